"""Give the tests of scores and sweeps a site."""

from reported import make_site

__all__ = ["make_site"]
