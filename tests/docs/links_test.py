# SPDX-License-Identifier: Apache-2.0
"""Follows the links of the pages to files, folders and headings, and the links of the built site. Does not
touch the network. Run by ctest with the paths of the sources and of the site as the only arguments."""

import html.parser
import pathlib
import sys
import unittest
import urllib.parse

SITE = pathlib.Path(sys.argv.pop())
SOURCES = pathlib.Path(sys.argv.pop())
sys.path.insert(0, str(SOURCES / "docs/site"))

import pages  # noqa: E402


class Page(html.parser.HTMLParser):
    """What a page of the site has: its anchors and its links."""

    def __init__(self, path):
        super().__init__()
        self.anchors = set()
        self.links = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.add(value)


class LinksTest(unittest.TestCase):
    def test_links_of_the_pages_lead_to_files_and_headings(self):
        anchors = {path: pages.headings(path.read_text()) for path in pages.pages().values()}
        count = 0
        for path in anchors:
            for link in pages.links(path.read_text()):
                target, _, anchor = link["target"].partition("#")
                if pages.is_external(link["target"]):
                    continue
                to = (path.parent / target).resolve() if target else path
                with self.subTest(page=str(path.relative_to(SOURCES)), link=link["target"]):
                    self.assertTrue(to.exists(), "there is no such file")
                    if anchor:
                        self.assertIn(anchor, anchors.get(to, ()), "there is no such heading")
                count += 1
        self.assertGreater(count, 300)

    @unittest.skipUnless((SITE / "index.html").exists(), "the site is not built: docs.site says why")
    def test_links_of_the_site_lead_to_pages_and_anchors(self):
        site = {path: Page(path) for path in SITE.rglob("*.html")}
        count = 0
        for path, page in site.items():
            for link in page.links:
                parts = urllib.parse.urlsplit(link)
                if parts.scheme or link.startswith("//"):
                    continue
                to = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
                anchor = urllib.parse.unquote(parts.fragment)
                with self.subTest(page=str(path.relative_to(SITE)), link=link):
                    self.assertTrue(to.exists(), "there is no such file")
                    if anchor and to in site:
                        self.assertIn(anchor, site[to].anchors, "there is no such anchor")
                count += 1
        self.assertGreater(count, 5000)


if __name__ == "__main__":
    unittest.main()
