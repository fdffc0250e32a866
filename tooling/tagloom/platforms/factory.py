"""Make the state of a switch as it leaves the factory."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tagloom.records.switch_state import SwitchEditor

if TYPE_CHECKING:
    from tagloom.platforms import Platform
    from tagloom.records.switch_state import SwitchState


def factory(platform: Platform) -> SwitchEditor:
    """Return a model's factory default, to be changed: it differs between models only in whether ports sleep."""
    editor = SwitchEditor.blank(platform.ports)
    editor.eee = [platform.eee_at_factory] * platform.ports
    return editor


def factory_state(platform: Platform) -> SwitchState:
    """Return a model's factory default, made once."""
    return _state(platform.ports, platform.eee_at_factory)


@cache
def _state(ports: int, eee: bool) -> SwitchState:
    editor = SwitchEditor.blank(ports)
    editor.eee = [eee] * ports
    return editor.freeze()
