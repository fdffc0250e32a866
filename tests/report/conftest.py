"""Give the tests of reports a site."""

from reported import make_site

__all__ = ["make_site"]
