#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests starling.Lists: views without copies, frames of pandas, Arrow's capsules, and tables for
notebooks."""

import ctypes
import gc
import unittest

import package_case

package_case.enter_peers()

import numpy  # noqa: E402
import starling  # noqa: E402
from starling import _arrow  # noqa: E402


def some_lists(texts=False):
    """Returns the lists of queries 1 and 9, the second removed, and of an every-object query 5."""
    engine = starling.Engine()
    engine.put_stream("<s>", with_position=True, with_tags=True)
    engine.put_queries("<s>", 9, 1, at=(0, 0))
    engine.tick(0)
    engine.remove_queries("<s>", 9)
    engine.put_queries("<s>", 1, 2, at=(0, 0))
    engine.put_queries("<s>", 5, 1, every_object=True)
    engine.update(["a", "b<", "c"] if texts else [11, 12, 13], [[1, 0], [2, 0], [4, 0]], 1, tags=[1, 2, 4])
    return engine.tick(1).streams["<s>"]


class Views(unittest.TestCase):
    def test_arrays_are_read_only_views_that_keep_the_result(self):
        lists = some_lists()
        arrays = [lists.query_ids, lists.offsets, lists.object_ids, lists.distances, lists.positions,
                  lists.tags]
        copies = [array.copy() for array in arrays]
        for array in arrays:
            self.assertFalse(array.flags.owndata)
            with self.assertRaises(ValueError):
                array[0] = 0
        found = lists[1]
        self.assertTrue(numpy.shares_memory(found.ids, lists.object_ids))
        del lists
        gc.collect()
        churn = [some_lists() for _ in range(50)]
        for array, copy in zip(arrays, copies):
            numpy.testing.assert_array_equal(array, copy)
        self.assertEqual((found.ids.tolist(), len(churn)), ([11, 12], 50))

    def test_lists_are_found_by_query_and_subject(self):
        lists = some_lists()
        self.assertEqual(len(lists), 5)
        seen = [(found.query, found.subject, found.is_removed, found.ids.tolist()) for found in lists]
        self.assertEqual(seen,
                         [(9, None, True, []), (1, None, False, [11, 12]), (5, 11, False, [12]),
                          (5, 12, False, [11]), (5, 13, False, [12])])
        self.assertEqual(lists[5, 13].distances.tolist(), [2.0])
        self.assertEqual(lists.counts.tolist(), [0, 2, 1, 1, 1])
        for key in (5, (5, 14), (1, 11), "x"):
            self.assertNotIn(key, lists)
        self.assertIn((5, 11), lists)
        with self.assertRaisesRegex(IndexError, "5 lists, and none at 5"):
            lists.at(5)

    def test_lists_without_entries_have_empty_arrays(self):
        engine = starling.Engine()
        engine.put_stream("s", with_position=True)
        engine.put_queries("s", 1, 1, at=(0, 0))
        for lists in (engine.tick(1).streams["s"], engine.tick(2).streams["s"], engine.neighbors((0, 0), 1)):
            self.assertEqual((lists.distances.shape, lists.positions.shape), ((0,), (0, 3)))
            for found in lists:
                self.assertEqual((found.ids.tolist(), found.distances.tolist()), ([], []))
            self.assertIsInstance(lists._repr_html_(), str)

    def test_a_notebook_shows_a_table_with_escaped_texts(self):
        page = some_lists(texts=True)._repr_html_()
        self.assertIn("<td>a (1), b&lt; (2)</td>", page)
        self.assertIn("removed", page)
        self.assertNotIn("<s>", page)
        self.assertEqual(repr(some_lists()), "<Lists of '<s>': 5 lists, 5 neighbours>")


@package_case.needs("pandas")
class Frames(unittest.TestCase):
    def test_a_frame_has_a_row_for_each_neighbour(self):
        frame = some_lists(texts=True).to_pandas()
        self.assertEqual(frame.columns.tolist(), [
            "query_id", "subject_id", "rank", "object_id", "object_text", "distance", "x", "y", "z", "tags"])
        of_lists = frame[frame["query_id"] != 9]  # query 9 is removed
        rows = zip(*(of_lists[name] for name in ("query_id", "rank", "object_text", "distance")))
        self.assertEqual(sorted(rows),
                         [(1, 1, "a", 1.0), (1, 2, "b<", 2.0), (5, 1, "a", 1.0), (5, 1, "b<", 1.0),
                          (5, 1, "b<", 2.0)])
        self.assertEqual(frame["subject_id"].isna().tolist(), (frame["query_id"] != 5).tolist())

    def test_a_frame_has_a_row_of_rank_0_for_an_empty_list_and_one_without_a_rank_for_a_removed_one(self):
        engine = starling.Engine()
        engine.put_stream("s", with_position=True, with_tags=True)
        engine.put_queries("s", ["near", "gone"], 2, at=[(0, 0), (0, 0)], distance_max=10)
        engine.update(["a", "b"], [[1, 0], [2, 0]], 1, tags=[1, 2])
        full = engine.tick(1).streams["s"].to_pandas()
        self.assertEqual(full["rank"].tolist(), [1, 2, 1, 2])
        engine.update(["a", "b"], [[100, 0], [200, 0]], 2)
        engine.remove_queries("s", ["gone"])
        engine.put_queries("s", ["far", "wide"], 1, at=[(900, 0), (100, 0)], distance_max=[1, 1])
        tick = engine.tick(2)
        frame = tick.streams["s"].to_pandas()
        texts = [engine.names.text_of(query) for query in frame["query_id"]]
        self.assertEqual(sorted(texts), ["far", "gone", "near", "wide"])
        rows = {text: frame.iloc[place] for place, text in enumerate(texts)}
        self.assertTrue(frame["rank"].isna().iloc[texts.index("gone")])
        for text in ("near", "far"):
            self.assertEqual(rows[text]["rank"], 0)
        self.assertEqual((rows["wide"]["rank"], rows["wide"]["object_text"], rows["wide"]["tags"]), (1, "a", 1))
        for name in ("object_id", "object_text", "distance", "x", "y", "z", "tags"):
            self.assertEqual(frame[name].isna().tolist(), [text != "wide" for text in texts], name)
        self.assertEqual([str(frame[name].dtype) for name in ("rank", "object_id", "tags")],
                         [str(full[name].dtype) for name in ("rank", "object_id", "tags")])

    def test_a_frame_of_answers_tells_an_unknown_object_from_an_empty_list(self):
        engine = starling.Engine()
        engine.update([1, 2], [[0, 0], [3, 4]], 1)
        engine.tick(1)
        frame = engine.neighbors(follow=[1, 7, 2], k=1, distance_max=[9, 9, 1]).to_pandas()
        self.assertEqual(frame["query_id"].tolist(), [0, 1, 2])
        self.assertEqual(frame["rank"].isna().tolist(), [False, True, False])
        self.assertEqual((frame["rank"][0], frame["rank"][2]), (1, 0))

    def test_a_frame_has_only_what_the_lists_have(self):
        engine = starling.Engine()
        engine.update([1], [[3, 4]], 1)
        engine.tick(1)
        frame = engine.neighbors((0, 0), 1).to_pandas()
        self.assertEqual(frame.to_dict("list"),
                         {"query_id": [0], "rank": [1], "object_id": [1], "distance": [5.0]})


class Arrow(unittest.TestCase):
    """Reads the capsules as a consumer in C does. Debian 12 has no pyarrow."""

    def read(self, schema, array):
        """Returns a column as Python's objects."""
        form, count = schema.format.decode(), array.length
        buffers = (ctypes.c_void_p * array.n_buffers).from_address(array.buffers)
        below = [self.read(*pair) for pair in self.children(schema, array)]
        valid = self.bits(buffers[0], count) if buffers[0] else [True] * count
        if form == "+s":
            names = [child.name.decode() for child, _ in self.children(schema, array)]
            return dict(zip(names, below))
        if form == "+w:3":
            return [below[0][3 * i:3 * i + 3] for i in range(count)]
        if form == "+L":
            offsets = self.numbers(buffers[1], ctypes.c_int64, count + 1)
            return [below[0][begin:end] for begin, end in zip(offsets, offsets[1:])]
        if form == "b":
            return self.bits(buffers[1], count)
        kind = {"L": ctypes.c_uint64, "l": ctypes.c_int64, "I": ctypes.c_uint32, "g": ctypes.c_double}[form]
        values = self.numbers(buffers[1], kind, count)
        return [value if there else None for value, there in zip(values, valid)]

    def children(self, schema, array):
        count = schema.n_children
        self.assertEqual(count, array.n_children)
        schemas = (ctypes.c_void_p * count).from_address(schema.children)
        arrays = (ctypes.c_void_p * count).from_address(array.children)
        return [(_arrow.ArrowSchema.from_address(one), _arrow.ArrowArray.from_address(other))
                for one, other in zip(schemas, arrays)]

    @staticmethod
    def numbers(where, kind, count):
        return list((kind * count).from_address(where)) if count else []

    @staticmethod
    def bits(where, count):
        raw = (ctypes.c_uint8 * ((count + 7) // 8)).from_address(where)
        return [bool(raw[i // 8] >> (i % 8) & 1) for i in range(count)]

    @staticmethod
    def struct_of(capsule, kind):
        name = _arrow._names[kind]
        return kind.from_address(_arrow._pointer_of(id(capsule), name))

    def test_an_array_has_the_lists_without_copies(self):
        lists = some_lists()
        entries = lists.object_ids.ctypes.data
        schema_capsule, array_capsule = lists.__arrow_c_array__()
        del lists
        gc.collect()
        schema = self.struct_of(schema_capsule, _arrow.ArrowSchema)
        array = self.struct_of(array_capsule, _arrow.ArrowArray)
        self.assertEqual(self.read(schema, array), {
            "query_id": [9, 1, 5, 5, 5], "subject_id": [None, None, 11, 12, 13],
            "is_removed": [True, False, False, False, False], "is_unknown": [False] * 5,
            "object_id": [[], [11, 12], [12], [11], [12]], "distance": [[], [1, 2], [1], [1], [2]],
            "position": [[], [[1, 0, 0], [2, 0, 0]], [[2, 0, 0]], [[1, 0, 0]], [[2, 0, 0]]],
            "tags": [[], [1, 2], [2], [1], [2]]})
        ids = self.children(*self.children(schema, array)[4])[0][1]
        self.assertEqual((ctypes.c_void_p * 2).from_address(ids.buffers)[1], entries)

    def test_votes_and_means_are_columns(self):
        engine = starling.Engine("vector", dimension=1)
        engine.put_stream("s")
        engine.put_queries("s", [1, 2], 1, at=[[0], [9]], vote=True, regress="uniform")
        engine.update([1, 2], [[0], [9]], 1, labels=[4, starling.NO_LABEL], values=[0.5, 2])
        schema, array = engine.tick(1).streams["s"].__arrow_c_array__()
        columns = self.read(self.struct_of(schema, _arrow.ArrowSchema),
                            self.struct_of(array, _arrow.ArrowArray))
        self.assertEqual((columns["vote"], columns["mean"]), ([4, None], [0.5, 2.0]))

    def test_what_is_exported_is_freed_by_its_consumer_or_with_its_capsule(self):
        gc.collect()
        before = len(_arrow._kept)
        capsules = some_lists().__arrow_c_array__()
        self.assertGreater(len(_arrow._kept), before)
        array = self.struct_of(capsules[1], _arrow.ArrowArray)
        _arrow._Release(array.release)(ctypes.addressof(array))  # as a consumer does
        self.assertIsNone(array.release)
        del capsules, array
        gc.collect()
        self.assertEqual(len(_arrow._kept), before)
        self.assertEqual(_arrow._in_capsules, {})

    def test_a_child_may_outlive_its_parent(self):
        schema_capsule, array_capsule = some_lists().__arrow_c_array__()
        schema = self.struct_of(schema_capsule, _arrow.ArrowSchema)
        array = self.struct_of(array_capsule, _arrow.ArrowArray)
        below, child = self.children(schema, array)[0]
        moved = _arrow.ArrowArray.from_buffer_copy(child)
        child.release = None
        _arrow._Release(array.release)(ctypes.addressof(array))
        del array_capsule
        gc.collect()
        self.assertEqual(self.read(below, moved), [9, 1, 5, 5, 5])
        _arrow._Release(moved.release)(ctypes.addressof(moved))

    def test_a_stream_has_one_batch(self):
        capsule = some_lists().__arrow_c_stream__()
        stream = self.struct_of(capsule, _arrow.ArrowArrayStream)
        schema, array = _arrow.ArrowSchema(), _arrow.ArrowArray()
        where = ctypes.addressof(stream)
        self.assertEqual(stream.get_schema(where, ctypes.addressof(schema)), 0)
        self.assertEqual(stream.get_next(where, ctypes.addressof(array)), 0)
        self.assertEqual(self.read(schema, array)["query_id"], [9, 1, 5, 5, 5])
        for struct in (schema, array):
            _arrow._Release(struct.release)(ctypes.addressof(struct))
        self.assertEqual(stream.get_next(where, ctypes.addressof(array)), 0)
        self.assertIsNone(array.release)


if __name__ == "__main__":
    unittest.main()
