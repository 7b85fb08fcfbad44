# SPDX-License-Identifier: Apache-2.0
"""Compares the man pages, the completions and starling.toml with the flags that --help shows. bash, zsh, fish
and man read them, where they are installed. Run by ctest with the path of the program as the only
argument."""

import functools
import re
import shutil
import subprocess
import sys
import unittest

from server_case import ServerCase

ServerCase.program = sys.argv.pop()


def needs(command):
    return unittest.skipUnless(shutil.which(command), f"{command} is not installed")


class DocumentsTest(ServerCase):
    def setUp(self):
        super().setUp()
        self.documents = self.folder / "documents"
        self.run_program("documents", self.documents)

    @functools.cache
    def commands(self, *path):
        """Returns the flags of each command below a path, as --help shows them."""
        text = self.run_program(*path, "--help").stdout
        names = []
        for line in re.findall(r"^  (-\S+)", text, re.MULTILINE):
            names += line.split(",")
        found = {path: names}
        below = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.MULTILINE)
        for name in re.findall(r"^  (\S+)", below[1], re.MULTILINE) if below else []:
            found.update(self.commands(*path, name))
        return found

    def bash(self, *words):
        """Returns what bash offers for the last word."""
        script = ('source "$1"; shift; COMP_WORDS=(starling "$@"); COMP_CWORD=$#; _starling; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        return self.lines("bash", "-c", script, "bash", self.documents / "bash/starling", *words)

    def lines(self, *command):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "LC_ALL": "C.UTF-8"})
        self.assertEqual((done.returncode, done.stderr), (0, ""), command)
        return done.stdout.split("\n")[:-1]

    def test_every_command_has_a_man_page_with_exactly_its_flags(self):
        commands = self.commands()
        self.assertGreater(len(commands), 15)
        pages = {page.name for page in (self.documents / "man1").iterdir()}
        self.assertEqual(pages, {"-".join(("starling",) + path) + ".1" for path in commands})
        for path, flags in commands.items():
            page = (self.documents / "man1" / ("-".join(("starling",) + path) + ".1")).read_text()
            entries = re.findall(r"^\.TP\n(\\fB\\-.*)$", page, re.MULTILINE)
            named = [name.replace("\\-", "-") for line in entries
                     for name in re.findall(r"\\fB(\\-.*?)\\fR", line)]
            self.assertEqual(sorted(named), sorted(flags), path)

    def test_pages_are_the_same_on_every_machine(self):
        self.assertNotIn("On this machine", "".join(
            page.read_text() for page in (self.documents / "man1").iterdir()))

    @needs("man")
    def test_man_has_no_warning(self):
        for page in sorted((self.documents / "man1").iterdir()):
            done = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True,
                                  timeout=60, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8",
                                                   "MANPAGER": "cat", "MANWIDTH": "80"})
            self.assertEqual((done.returncode, done.stderr), (0, ""), page.name)
            self.assertIn("NAME", done.stdout)

    @needs("bash")
    def test_bash_offers_every_flag_and_command(self):
        for path, flags in self.commands().items():
            offered = self.bash(*path, "-")
            self.assertEqual(sorted(set(offered) - {"--config"}), sorted(set(flags) - {"--config"}), path)
            self.assertIn("--config", offered)
        self.assertEqual(self.bash("su"), ["subscribe"])
        self.assertEqual(self.bash("put", "q"), ["query"])
        self.assertEqual(self.bash("serve", "--log-level", "w"), ["warning"])
        self.assertEqual(self.bash("serve", "--log-level", "=", "w"), ["warning"])
        self.assertEqual(self.bash("--config", "x.toml", "serve", "--spa"), ["--space"])

    @needs("fish")
    def test_fish_offers_every_flag_and_command(self):
        script = 'source $argv[1]; complete -C "$argv[2]"'

        def offers(line):
            return [each.split("\t")[0] for each in
                    self.lines("fish", "--no-config", "-c", script, self.documents / "fish/starling.fish",
                               line)]
        for path, flags in self.commands().items():
            line = " ".join(("starling",) + path)
            for dashes in ("-", "--"):
                expected = {flag for flag in flags if flag.startswith("--") == (dashes == "--")}
                self.assertLessEqual(expected, set(offers(f"{line} {dashes}")), line)
        self.assertEqual(offers("starling su"), ["subscribe"])
        self.assertEqual(offers("starling serve --log-level w"), ["warning"])

    @needs("zsh")
    def test_zsh_offers_every_flag_and_command(self):
        # zsh completes only in a terminal: zpty gives it one, and a widget prints the matches.
        script = r"""
zmodload zsh/zpty
zpty terminal zsh -f -i
zpty -w terminal "PS1=; stty -echo; fpath=($1 \$fpath); autoload -Uz compinit; compinit -D -u"
zpty -w terminal 'compadd() { local name=${@[(r)-a]:+${@[-1]}}; builtin compadd "$@"
  [[ -n $name && ${@[(i)-D]} -gt $# ]] && print -rl -- "match "${(P)^name}; }'
zpty -w terminal "bindkey '^I' complete-word; zle -C complete-word complete-word all"
zpty -w terminal 'all() { _main_complete; compstate[list]=; compstate[insert]=; print -r "ended"; }'
zpty -w terminal 'print -r rea"dy"'
zpty -r terminal line '*ready*'
for words in "${@:2}"; do
  zpty -w -n terminal $'\025'"$words"$'\t'
  zpty -r terminal line '*ended*'
  print -r -- "$line"
done
"""

        commands = self.commands()
        lines = {" ".join(("starling",) + path) + " -": set(flags) for path, flags in commands.items()}
        lines.update({"starling su": {"subscribe"}, "starling serve --log-level w": {"warning"}})
        done = subprocess.run(["zsh", "-f", "-c", script, "zsh", self.documents / "zsh", *lines],
                              capture_output=True, text=True, timeout=60,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "TERM": "dumb"})
        self.assertEqual(done.returncode, 0, done.stderr)
        offered = [set(re.findall(r"match (\S+)", part)) for part in done.stdout.split("ended")]
        self.assertEqual(len(offered), len(lines) + 1)
        for (line, expected), found in zip(lines.items(), offered):
            self.assertLessEqual(expected, found, line)
            if line.endswith(" -"):
                self.assertIn("--config", found)

    def test_the_settings_are_all_flags_of_serve_with_their_defaults(self):
        text = (self.documents / "starling.toml").read_text()
        names = re.findall(r"^#([a-z-]+) = ", text, re.MULTILINE)
        flags = {flag[2:] for flag in self.commands("serve")[("serve",)] if flag.startswith("--")}
        self.assertEqual(sorted(names), sorted(flags - {"help", "check-config"}))
        self.run_program("serve", "--config", self.documents / "starling.toml", "--check-config")
        # A file that sets every flag to its default gives the same values as no file.
        written = re.sub(r"^#([a-z-]+ = [^A-Z\[\n])", r"\1", text, flags=re.MULTILINE)
        file = self.write("written.toml", written)

        def values(*more):
            done = self.run_program("serve", "--check-config", *more)
            return {row[0]: row[1] for row in map(str.split, done.stdout.splitlines())}
        self.assertEqual(values("--config", file), values())
        self.assertIn(str(file), self.run_program("serve", "--check-config", "--config", file).stdout)


if __name__ == "__main__":
    unittest.main()
