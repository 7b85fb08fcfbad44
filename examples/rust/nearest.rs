// SPDX-License-Identifier: Apache-2.0
// Finds the two nearest of four points to each of two queries from Rust: the declarations that a
// program needs of libstarling.so, and one call. Exits with 0 if the answers are the expected ones.
//   rustc nearest.rs -L DIR/lib -l starling
use std::ffi::CStr;
use std::os::raw::c_char;
use std::process::exit;

/// The structs of starling.h that the program passes. Each begins with its size.
#[repr(C)]
struct IndexOptions {
    size: usize,
    metric: i32,
    backend: i32,
    device: i32,
    threads: u32,
    borrows: i32,
    reserved: i32,
}

#[repr(C)]
struct Error {
    size: usize,
    code: i32,
    name: *const c_char,
    sentence: *const c_char,
    limit_name: *const c_char,
    limit_value: u64,
}

extern "C" {
    fn starling_last_error(error: *mut Error) -> i32;
    fn starling_index_options_init(options: *mut IndexOptions, size: usize) -> i32;
    fn starling_knn(
        options: *const IndexOptions,
        points: *const f32,
        point_count: u64,
        queries: *const f32,
        query_count: u64,
        dimension: u32,
        k: u32,
        rows: *mut u32,
        distances: *mut f64,
    ) -> i32;
}

/// Returns the error of this thread's last failed call.
fn last_sentence() -> String {
    let mut error: Error = unsafe { std::mem::zeroed() };
    error.size = std::mem::size_of::<Error>();
    unsafe {
        starling_last_error(&mut error);
        CStr::from_ptr(error.sentence).to_string_lossy().into_owned()
    }
}

fn check(code: i32) -> Result<(), String> {
    if code == 0 {
        Ok(())
    } else {
        Err(last_sentence())
    }
}

/// Returns the rows and the distances of the k nearest points of each query, nearest first.
fn knn(
    points: &[f32],
    queries: &[f32],
    dimension: usize,
    k: usize,
) -> Result<(Vec<u32>, Vec<f64>), String> {
    let query_count = queries.len() / dimension;
    let mut rows = vec![0; query_count * k];
    let mut distances = vec![0.0; query_count * k];
    let mut options: IndexOptions = unsafe { std::mem::zeroed() };
    unsafe {
        check(starling_index_options_init(
            &mut options,
            std::mem::size_of::<IndexOptions>(),
        ))?;
        check(starling_knn(
            &options,
            points.as_ptr(),
            (points.len() / dimension) as u64,
            queries.as_ptr(),
            query_count as u64,
            dimension as u32,
            k as u32,
            rows.as_mut_ptr(),
            distances.as_mut_ptr(),
        ))?;
    }
    Ok((rows, distances))
}

fn main() {
    let points = [0., 0., 0., 1., 0., 0., 0., 3., 0., 5., 5., 5.];
    let queries = [0., 0., 0., 5., 5., 4.];
    let (rows, distances) = knn(&points, &queries, 3, 2).unwrap_or_else(|sentence| {
        eprintln!("nearest: {}", sentence);
        exit(1);
    });
    for (i, (row, distance)) in rows.iter().zip(&distances).enumerate() {
        println!("query {}: row {} at {:.3}", i / 2, row, distance);
    }
    exit(if rows == [0, 1, 3, 2] { 0 } else { 1 });
}
