// SPDX-License-Identifier: Apache-2.0
// What is there at run time and not in a type of its own.
declare module "*.css";

/** flatc 2.0 writes a default of infinity as this name; esbuild replaces it by Infinity. */
declare const inf: number;
