# SPDX-License-Identifier: Apache-2.0
"""Runs `starling put`, `ask` and `remove` as programs against real servers, on objects, streams and queries.
Run by ctest with the path of the program as the only argument."""

import json
import signal
import subprocess
import sys
import unittest

from server_case import PATIENCE_S, ServerCase

ServerCase.program = sys.argv.pop()
THREE = "id,lon,lat\ntruck-7,10.75,59.91\n日本丸,10.76,59.92\nbus,10.74,59.90\n"


class PutAskTest(ServerCase):
    def put(self, *arguments, **options):
        return json.loads(self.ask_server("put", "--json", *arguments, **options).stdout)

    def ask(self, *arguments):
        answer = json.loads(self.ask_server("ask", "--json", *arguments).stdout)
        return [(each.get("name", each["id"]), each["distance_m"]) for each in answer["neighbors"]]

    def test_three_objects_and_the_two_nearest(self):
        self.serve("--space", "wgs84")
        self.assertEqual(self.ask_server("put", text=THREE).stdout,
                         "3 accepted, 0 late, 0 rejected\n")
        lines = self.ask_server("ask", "--lon", "10.75", "--lat", "59.91", "-k",
                                "2").stdout.splitlines()
        self.assertRegex(lines[0], r"^tick [1-9]\d*  20\d\d-\d\d-\d\d .* UTC$")
        self.assertEqual(lines[1:], ["rank  object     metres",
                                     "   1  truck-7     0.000",
                                     "   2  日本丸   1246.674"])

    def test_a_server_with_a_log_is_asked_about_the_past(self):
        place = ["ask", "--x", "0", "--y", "0", "--csv"]
        self.serve()
        refused = self.ask_server(*place, "--at", "2100-01-01T00:00:00Z", status=1)
        self.assertIn("start it with --journal DIR", refused.stderr)
        self.serve("--journal", self.folder / "log", "--journal-keep", "1h")
        for x in "1", "2":
            self.ask_server("put", "--id", "a", "--x", x, "--y", "0")
        now = self.ask_server(*place).stdout.splitlines()
        time_us = int(now[1].split(",")[1])
        self.assertEqual(self.ask_server(*place, "--at", str(time_us / 1e6)).stdout.splitlines(), now)
        refused = self.ask_server(*place, "--at", "1990-01-01T00:00:00Z", status=1)
        self.assertIn("no tick at or before", refused.stderr)

    def test_any_number_of_runs_find_room_for_their_sessions(self):
        self.serve("--sessions-max", "3")
        for run in range(5):
            self.put("--id", str(run), "--x", "0", "--y", "0")
            self.ask("--x", "0", "--y", "0")
        self.ask_server("streams")

    def test_csv_has_the_one_format(self):
        self.serve("--space", "wgs84")
        self.ask_server("put", text=THREE)
        lines = self.ask_server("ask", "--csv", "--object", "truck-7", "-k", "1").stdout.splitlines()
        self.assertEqual(lines[0], "tick,time_us,query_id,rank,object_id,distance_m")
        self.assertRegex(lines[1], r"^\d+,\d{16},0,1,日本丸,1246\.674$")
        self.assertEqual(len(lines), 2)

    def test_an_exact_distance_given_back_keeps_its_object(self):
        # Rounding the distances below to long double first and then to float64 gives smaller numbers than
        # rounding them once.
        self.serve()
        self.put(text="id,x,y\n1,4.17,1.27\n2,4.42,0.22\n3,4.61,2.71\n4,5.10,4.64\n")
        here = ["ask", "--x", "0", "--y", "0"]
        lines = self.ask_server(*here, "--csv", "--exact").stdout.splitlines()[1:]
        reported = [tuple(line.split(",")[4:]) for line in lines]
        self.assertEqual(reported, [("1", "4.359105412811211"), ("2", "4.425471726268285"),
                                    ("3", "5.347541491190134"), ("4", "6.894896663475095")])
        for rank, (_, text) in enumerate(reported, start=1):
            self.assertEqual(self.ask(*here[1:], "--distance-max", text),
                             [(name, float(distance)) for name, distance in reported[:rank]])
        self.assertIn("add --csv", self.ask_server(*here, "--exact", status=2).stderr)

    def test_one_object_from_flags_and_filters_of_a_question(self):
        self.serve()
        self.put("--id", "a", "--x", "-3", "--y", "4", "--tags", "5")
        self.put("--id", "18446744073709551615", "--x", "0", "--y", "2", "--tags", "1")
        self.put("--id", "old", "--x", "0", "--y", "1", "--time", "2020-01-01T00:00:00Z")
        here = ["--x", "0", "--y", "0"]
        self.assertEqual(self.ask(*here),
                         [("old", 1), ("18446744073709551615", 2), ("a", 5)])
        self.assertEqual(self.ask(*here, "--tags-required", "4"), [("a", 5)])
        self.assertEqual(self.ask(*here, "--tags-forbidden", "4", "--age-max", "1h"),
                         [("18446744073709551615", 2)])
        self.assertEqual(self.ask(*here, "--distance-max", "1.5"), [("old", 1)])
        self.assertEqual(self.ask("--object", "a", "-k", "1"), [("18446744073709551615", 13 ** 0.5)])

    def test_an_unknown_object_is_told_from_an_empty_list(self):
        self.serve()
        self.put("--id", "alone", "--x", "0", "--y", "0")
        done = self.ask_server("ask", "--object", "alone", "--csv")
        self.assertRegex(done.stdout.splitlines()[1], r"^\d+,\d+,0,0,,$")
        self.assertEqual(done.stderr, "starling ask: no other object passes the filter, or this tick has none\n")
        answer = json.loads(self.ask_server("ask", "--object", "alone", "--json").stdout)
        self.assertEqual(answer["neighbors"], [])
        for form in [], ["--csv"], ["--json"]:
            done = self.ask_server("ask", "--object", "nobody", *form, status=1)
            self.assertEqual(done.stdout, "")
            self.assertRegex(done.stderr, r"^starling: tick \d+, of .*, has no object 'nobody': ")
        self.ask_server("remove", "object", "alone")
        while self.ask_server("ask", "--x", "0", "--y", "0", "--json").stdout.count('"id"'):
            pass
        self.assertIn("has no object 'alone'", self.ask_server("ask", "--object", "alone", status=1).stderr)

    def test_three_dimensions(self):
        self.serve("--space", "planar3")
        self.put(text="id;x;y;z\na;0;0;7\nb;0;0;-1\n")
        self.assertEqual(self.ask("--x", "0", "--y", "0", "--z", "0"), [("b", 1), ("a", 7)])
        self.assertIn("--z: this server's space is planar3",
                      self.ask_server("ask", "--x", "0", "--y", "0", status=2).stderr)

    def test_json_lines_and_header_names_that_others_use(self):
        self.serve("--space", "wgs84")
        rows = [{"id": "a", "longitude": 1, "Latitude": 2, "timestamp": "2022-01-03T00:10:00Z"},
                {"id": 2**64 - 1, "lng": "1", "lat": 2.001, "time_us": 1, "alt": 50, "speed": 3}]
        done = self.ask_server("put", "--json", text="\n\n".join(map(json.dumps, rows)))
        self.assertEqual(json.loads(done.stdout),
                         {"accepted": 2, "late": 0, "rejected": 0, "reasons": {}})
        self.assertIn("not used: speed", done.stderr)
        self.assertEqual([name for name, _ in self.ask("--lon", "1", "--lat", "2")],
                         ["a", str(2**64 - 1)])
        path = self.write("more.csv", 'LAT,LON,id\n2,1,"a, ""b""\nc"\n2,1,d')
        self.assertEqual(self.put(path)["accepted"], 2)
        self.assertEqual(self.put(path, path)["accepted"], 4)
        self.assertIn(('a, "b"\nc', 0), self.ask("--lon", "1", "--lat", "2"))

    def test_rejected_rows_are_counted_with_reasons_and_the_others_are_put(self):
        self.serve("--space", "wgs84")
        done = self.ask_server("put", status=1, text="id,lon,lat,tags\n"
                               "a,10,20,\nb,200,20,\nc,10,,\nd,10,x,\n,1,2,\nf,1,2,-3\ng,11,20,7\n")
        self.assertEqual(done.stdout, "2 accepted, 0 late, 5 rejected\n"
                         "  1 rejected: the longitude is not in -180 to 180; check that longitude and "
                         "latitude are not swapped\n  4 rejected: the row cannot be read\n")
        self.assertEqual(done.stderr.splitlines(),
                         ["the standard input:4: the latitude is missing",
                          "the standard input:5: the latitude 'x' cannot be understood",
                          "the standard input:6: the id is missing",
                          "the standard input:7: the tag number '-3' cannot be understood"])
        self.assertEqual([name for name, _ in self.ask("--lon", "10", "--lat", "20")], ["a", "g"])

    def test_a_late_row_is_counted_and_changes_nothing(self):
        self.serve()
        self.put("--id", "1", "--x", "1", "--y", "0")
        late = self.put("--id", "1", "--x", "2", "--y", "0", "--time", "2020-01-01")
        self.assertEqual((late["accepted"], late["late"], late["rejected"]), (0, 1, 0))
        self.assertEqual(self.ask("--x", "0", "--y", "0"), [("1", 1)])

    def test_many_rows_go_in_batches_and_a_pipe_is_not_held_back(self):
        self.serve("--rows-max", "1000", "--credit-rows", "1000")
        rows = "".join(f"{id},{id},0\n" for id in range(30_000))
        self.assertEqual(self.put(text="id,x,y\n" + rows)["accepted"], 30_000)
        self.assertEqual(self.ask("--x", "29999", "--y", "0", "-k", "2"),
                         [("29999", 0), ("29998", 1)])
        pipe = subprocess.Popen([self.program, "put", *self.connect()], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True)
        self.addCleanup(pipe.stdout.close)
        self.addCleanup(self.end, pipe)
        pipe.stdin.write("id,x,y\nearly,-5,0\nhalf of a ro")
        pipe.stdin.flush()
        while self.ask("--x", "-5", "--y", "0", "-k", "1") != [("early", 0)]:
            self.assertIsNone(pipe.poll())
        pipe.stdin.write("w,-6,0")
        pipe.stdin.close()
        self.assertEqual(pipe.stdout.read(), "2 accepted, 0 late, 0 rejected\n")
        self.assertEqual(pipe.wait(PATIENCE_S), 0)

    def test_ctrl_c_ends_a_pipe_with_the_totals_so_far(self):
        self.serve()
        pipe = subprocess.Popen([self.program, "put", *self.connect()], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(pipe.stderr.close)
        self.addCleanup(pipe.stdout.close)
        self.addCleanup(pipe.stdin.close)
        self.addCleanup(self.end, pipe)
        pipe.stdin.write("id,x,y\na,1,0\n")
        pipe.stdin.flush()
        while not self.ask("--x", "0", "--y", "0"):
            self.assertIsNone(pipe.poll())
        self.assertEqual(self.end(pipe, signal.SIGINT), 1)
        self.assertEqual(pipe.stdout.read(), "1 accepted, 0 late, 0 rejected\n")
        self.assertEqual(pipe.stderr.read(), "starling put: stopped before the end of the input\n")

    def test_names_without_room_are_said_and_their_objects_are_put(self):
        self.serve("--names-max", "1")
        done = self.ask_server("put", text="id,x,y\na,1,0\nb,2,0\nc,3,0\n")
        self.assertEqual(done.stdout, "3 accepted, 0 late, 0 rejected\n")
        self.assertIn("no room for 2 names", done.stderr)
        self.assertEqual([distance for _, distance in self.ask("--x", "0", "--y", "0")], [1, 2, 3])

    def test_streams_and_queries_are_put_shown_and_removed(self):
        self.serve("--space", "wgs84")
        self.ask_server("put", text=THREE)
        no_stream = ("starling: there is no stream 'ships' on this server; make it with: starling put "
                     "stream ships\n")
        query = ["put", "query", "ships", "harbour", "--lon", "10.75", "--lat", "59.91", "-k", "2"]
        self.assertEqual(self.ask_server(*query, status=1).stderr, no_stream)
        follower = subprocess.Popen([self.program, "subscribe", "ships", *self.connect(), "--results",
                                     self.endpoints["results"]], stderr=subprocess.PIPE, text=True)
        self.addCleanup(follower.stderr.close)
        self.addCleanup(self.end, follower)
        self.assertIn("starling put stream NAME", follower.stderr.readline())
        self.ask_server("put", "stream", "ships", "--on", "distance")
        self.ask_server(*query)
        self.ask_server("put", "query", "ships", "near-bus", "--follow", "bus", "-k", "1", "--lease",
                        "1h")
        self.ask_server("put", "query", "ships", "every", "--every-object", "-k", "1",
                        "--distance-max", "1300")
        self.ask_server("put", text=THREE)  # waits until a tick has taken the queries
        shown = self.run_program("subscribe", "ships", *self.connect(), "--results",
                                 self.endpoints["results"], "--ticks", "2", "--format", "csv")
        rows = {tuple(line.split(",")[2:]) for line in shown.stdout.splitlines()[1:]}
        self.assertLessEqual({("harbour", "1", "truck-7", "0.000", ""),
                              ("harbour", "2", "日本丸", "1246.674", ""),
                              ("near-bus", "1", "truck-7", "1246.750", ""),
                              ("every", "1", "truck-7", "1246.750", "bus")}, rows)
        gone = json.loads(self.ask_server("remove", "query", "ships", "harbour", "nothing", "--json",
                                          status=1).stdout)
        self.assertEqual(gone, {"accepted": 1, "late": 0, "rejected": 1,
                                "reasons": {"unknown_query": 1}})

    def test_a_query_whose_name_is_refused_says_so(self):
        self.serve("--names-max", "1")
        self.ask_server("put", "stream", "ships")
        query = ["-k", "1", "--x", "0", "--y", "0"]
        self.assertEqual(self.ask_server("put", "query", "ships", "harbour", *query).stderr, "")
        put = self.ask_server("put", "query", "ships", "port", *query)
        self.assertEqual(put.stdout, "1 accepted, 0 late, 0 rejected\n")
        self.assertEqual(put.stderr, "starling put: the query 'port' has no name: the server has no "
                                     "room for more names; its limit is names-max (1)\n")

    def test_streams_are_listed_and_removed_with_their_queries(self):
        self.serve()
        self.assertIn("the server has no streams", self.ask_server("streams").stderr)
        self.ask_server("put", "stream", "ships", "--on", "membership")
        self.ask_server("put", "stream", "日本丸")
        self.ask_server("put", "query", "ships", "harbour", "-k", "3", "--x", "0", "--y", "0")
        table = [line.split() for line in self.ask_server("streams").stdout.splitlines()]
        self.assertEqual([row[:2] for row in table],
                         [["stream", "on"], ["ships", "membership"], ["日本丸", "order"]])
        first = json.loads(self.ask_server("streams", "--json").stdout)[0]
        self.assertEqual((first["name"], first["queries"], first["subscriptions"]), ("ships", 1, 0))
        self.assertEqual(self.ask_server("remove", "stream", "ships").stdout,
                         "removed, with its queries\n")
        self.assertEqual([stream["name"] for stream in
                          json.loads(self.ask_server("streams", "--json").stdout)], ["日本丸"])
        self.assertIn("there is no stream 'ships'",
                      self.ask_server("remove", "stream", "ships", status=1).stderr)

    def test_a_removed_object_is_gone_and_an_older_row_does_not_bring_it_back(self):
        self.serve()
        self.put(text="id,x,y,time\na,1,0,2022-01-03T00:00:00Z\nb,2,0,2022-01-03T00:00:00Z\n")
        self.ask_server("remove", "object", "a", "--time", "2022-01-03T00:00:10Z")
        self.put("--id", "c", "--x", "3", "--y", "0")
        self.assertEqual(self.ask("--x", "0", "--y", "0"), [("b", 2), ("c", 3)])
        late = self.put("--id", "a", "--x", "1", "--y", "0", "--time", "2022-01-03T00:00:05Z")
        self.assertEqual(late["late"], 1)

    def test_a_server_that_ticks_on_request_is_said(self):
        self.serve("--tick", "manual")
        self.assertIn("ticks only on request",
                      self.ask_server("put", "--id", "1", "--x", "0", "--y", "0").stderr)
        self.assertIn("no tick has finished yet",
                      self.ask_server("ask", "--x", "0", "--y", "0").stderr)

    def test_failures_are_sentences(self):
        self.serve("--space", "wgs84", "--k-max", "4")
        for arguments, status, sentence in [
                (["put", "--id", "a", "--x", "1", "--y", "2"], 2,
                 "--x: this server's space is wgs84; give --lon and --lat"),
                (["put", "--id", "a", "--lon", "1"], 2, "--lat: a place needs both --lon and --lat"),
                (["put", "--id", "a", "--lon", "1", "--x", "2"], 2, "not both"),
                (["put", "--lon", "1", "--lat", "2"], 2, "--id: an object needs an id"),
                (["put", "--id", "a"], 2, "the object needs a place"),
                (["put", "--id", "a", "file.csv"], 2, "not both"),
                (["put", "--id", "a", "--lon", "1", "--lat", "2", "--time", "soon"], 2,
                 "--time: 'soon' is not a time"),
                (["put", "/nowhere.csv"], 1, "/nowhere.csv: cannot be opened"),
                (["put", "--id", "7", "--name", "seven", "--lon", "1", "--lat", "2"], 1,
                 "a name is the text id itself"),
                (["put", "--id", "a", "stream", "ships"], 2, "follow `put stream` or"),
                (["put", "query", "ships", "a"], 2, "a query needs one of these"),
                (["put", "query", "ships", "a", "--follow", "b", "--every-object"], 2, "one of these"),
                (["remove", "query", "ships", "a"], 1, "there is no stream 'ships'"),
                (["ask"], 2, "give either a place"),
                (["ask", "--object", "a", "--lon", "1", "--lat", "2"], 2, "give either a place"),
                (["ask", "--object", "a", "-k", "5"], 1, "^starling: k is 5; it must be 1 to k-max"),
                (["ask", "--object", "a", "-k", "0"], 2, "-k|--k"),
                (["ask", "--object", "nobody", "-k", "2"], 1,
                 r"^starling: tick \d+, of 20\S+ \S+ UTC, has no object 'nobody': it was never put, was "
                 "removed or has expired; check the id, or ask again"),
                (["ask", "--lon", "1", "--lat", "2", "--age-max", "soon"], 2, "is not a duration")]:
            done = self.ask_server(*arguments, status=status)
            self.assertRegex(done.stderr + done.stdout, sentence, arguments)
        for text, sentence in [
                ("", "the input is empty"),
                ("[{}]", "this is a JSON array; put needs one JSON object on each line"),
                ("id,x,y\n1,2,3\n", "the header needs id, lon and lat, .* this one has: id, x, y"),
                ("id,lon,long,lat\n", "two columns hold the same field; the second is 'long'"),
                ('id,lon,lat\n"a,1,2\n', "2:1: the quote that opens here is never closed")]:
            self.assertRegex(self.ask_server("put", text=text, status=1).stderr, sentence)

    def test_without_a_server_the_endpoint_and_the_remedy_are_said(self):
        server = self.serve()
        self.end(server)
        for command in (["ask", "--x", "0", "--y", "0"], ["put", "--id", "a", "--x", "0", "--y", "0"],
                        ["put", "stream", "s"], ["remove", "object", "a"]):
            self.assertEqual(
                self.ask_server(*command, "--timeout", "50ms", status=1).stderr,
                f"starling: The server at {self.endpoints['commands']} did not answer within 50 ms. "
                "Start a server with `starling serve`, or give the commands endpoint of a running one.\n")

    def test_the_server_may_come_from_before_the_word_or_the_environment(self):
        self.serve()
        self.run_program("put", *self.connect(), "stream", "s")
        self.run_program("put", "stream", "s",
                         environment={"STARLING_PUT_CONNECT": self.endpoints["commands"]})
        self.run_program("remove", *self.connect(), "object", "a")

    def test_each_help_has_three_examples(self):
        for command in (["put"], ["put", "stream"], ["put", "query"], ["remove", "object"], ["ask"]):
            text = self.run_program(*command, "--help").stdout
            examples = [line for line in text.splitlines() if line.startswith("  ") and
                        "starling " + command[0] in line]
            self.assertEqual(len(examples), 3, text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
