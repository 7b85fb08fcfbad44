# SPDX-License-Identifier: Apache-2.0
"""A toy flag: `starling serve --toy-greeting` logs a text when the server is ready."""

from toys.edits import after, before, changelog

SECTION = "Add a flag of the program"

STEPS = [
    (1, [
        after("stream/operation/options.hpp", """\
  std::string server_name = "starling";
""", """\
  /// A text that the program logs when the server is ready; at most 40 bytes. Empty: none.
  std::string toy_greeting{};
"""),
    ]),
    (2, [
        before("stream/operation/options.cpp", """\
  if (options.tick_period_us && *options.tick_period_us <= 0)
""", """\
  constexpr std::size_t greeting_bytes_max = 40;
  if (options.toy_greeting.size() > greeting_bytes_max)
    refuse("toy-greeting", "a greeting has at most " + std::to_string(greeting_bytes_max) + " bytes",
           options.toy_greeting.size());
"""),
    ]),
    (3, [
        before("apps/serve.cpp", "  add_http_flag(app, server.http_host, server.http_port,\n", """\
  app.add_option("--toy-greeting", server.toy_greeting,
                 "Log this text when the server is ready. Without this flag, there is no greeting")
      ->type_name("TEXT");
"""),
        before("apps/serve.cpp", "  return run(server);\n", """\
  if (!options.toy_greeting.empty()) spdlog::info("{}", options.toy_greeting);
"""),
    ]),
    (4, [
        before("tests/apps/check_config_test.py", "    def test_all_faults_are_said_together(self):\n", '''\
    def test_a_greeting_is_short(self):
        values, _ = self.check("--toy-greeting", "hello",
                               environment={"STARLING_SERVE_TOY_GREETING": "good evening"})
        self.assertEqual(values["toy-greeting"], ("hello", "command line"))
        self.assertIn("toy-greeting: a greeting has at most 40 bytes, not 41",
                      self.check("--toy-greeting", "x" * 41, status=1)[1])

'''),
    ]),
    (5, [
        before("docs/operating.md", "## Units\n", """\
`--toy-greeting` writes a text to the log when the server is ready.

"""),
        changelog("`starling serve --toy-greeting` logs a text when the server is ready."),
    ]),
]

LEFT_OUT = {}
