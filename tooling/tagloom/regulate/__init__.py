"""Choose the links that traffic does not need."""

from tagloom.regulate.static import static

__all__ = ["static"]
