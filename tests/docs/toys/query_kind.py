# SPDX-License-Identifier: Apache-2.0
"""A toy kind of query: the nearest to the lattice's origin. It stops after step 8, as the page allows."""

from toys.edits import after, before, replace

SECTION = "Add a kind of query"

STEPS = [
    (1, [
        after("knn/words/query.hpp", """\
  every_object,  ///< one list for each object that passes `subject`: the k-NN graph
""", """\
  origin,        ///< around the lattice's origin; not in a vector space
"""),
    ]),
    (2, [
        after("tests/support/oracle.cpp", """\
    return nearest({anchor.position, components}, std::nullopt, k, filter);
""", """\
  if (anchor.kind == AnchorKind::origin) return nearest({}, std::nullopt, k, filter);
"""),
        before("tests/support/oracle_test.cpp", """\
TEST(OracleAnchors, EveryObjectKeepsOneListPerSubject) {
""", """\
TEST(OracleAnchors, TheOriginIsTheSamePlaceWhateverThePositionIs) {
  Oracle oracle;
  oracle.put_stream(stream("s"));
  oracle.put_query(0, query(1, 2, {.kind = AnchorKind::origin, .position = {9, 9, 9}}));
  oracle.update(fix(ann, 0, 3, 4));
  oracle.update(fix(bob, 0, -2));
  oracle.update(fix(cat, 0, 9));
  EXPECT_THAT(oracle.tick(0).reports.at(key(1)).neighbors, ElementsAre(at(bob, 4), at(ann, 25)));
}

"""),
    ]),
    (3, [
        before("knn/tables/query_table.cpp", """\
  if (definition.anchor.kind == AnchorKind::fixed &&
      definition.components.size() != options_.dimension)""", """\
  if (definition.anchor.kind == AnchorKind::origin && options_.dimension > 0)
    return QueryStatus::wrong_dimension;
"""),
        replace("knn/tables/query_table.cpp", """\
                     .position = definition.anchor.position,
""", """\
                     .position = definition.anchor.kind == AnchorKind::origin
                                     ? LatticePoint{}
                                     : definition.anchor.position,
"""),
    ]),
    (6, [
        replace("knn/engine/list_directory.hpp", """\
  if (query.anchor != AnchorKind::fixed) directory.has_moving_anchors = true;
""", """\
  if (query.anchor != AnchorKind::fixed && query.anchor != AnchorKind::origin)
    directory.has_moving_anchors = true;
"""),
    ]),
    (7, [
        after("knn/engine/engine_answers.hpp", """\
                " asks for every object; a one-shot query has a fixed anchor or follows an object");
""", """\
    check_usage(query.anchor != AnchorKind::origin, "search_finished: query ", i,
                " asks for the origin; a one-shot query has a fixed anchor there");
"""),
        after("tests/conformance/misuse_test.cpp", """\
  EXPECT_THAT(refused([](auto& query) { query.anchor = AnchorKind::every_object; }),
              HasSubstr("every object"));
""", """\
  EXPECT_THAT(refused([](auto& query) { query.anchor = AnchorKind::origin; }),
              HasSubstr("the origin"));
"""),
    ]),
    (8, [
        replace("tests/conformance/script.cpp", """\
    const Anchor anchor = random_.chance(0.3) ? every_object() : draw_question_anchor();
    const std::uint32_t k = draw_k();
""", """\
    Anchor anchor = random_.chance(0.3) ? every_object() : draw_question_anchor();
    if (random_.chance(0.2)) anchor = {.kind = AnchorKind::origin, .position = points_.next()};
    const std::uint32_t k = draw_k();
"""),
    ]),
]

LEFT_OUT = {
    4: "Room counts k for each kind but every_object",
    5: "a QueryRow has a position already",
    **{step: "the page lets one stop after step 8" for step in range(9, 15)},
}
