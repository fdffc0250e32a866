"""Turn switch states and changes into a family's text, and its text back into switch states."""

from tagloom.render.bridge import read_bridge
from tagloom.render.command_line import (
    line_changes,
    line_effects,
    parse_configuration,
    render_commands,
    render_configuration,
)
from tagloom.render.fabric_texts import RenderedOnce, check_templates, commands, lines_of, parse, render
from tagloom.render.hosts import host_pages, learning, static_arp
from tagloom.render.own_templates import template_findings
from tagloom.render.parse import Reading, port_descriptions, read_state, read_text
from tagloom.render.parsed import Parsed, UnknownLine
from tagloom.render.site_changes import missing_lines, site_commands
from tagloom.render.site_lines import SiteLines, named_by, site_lines, with_trusted_lines

__all__ = [
    "Parsed",
    "Reading",
    "RenderedOnce",
    "SiteLines",
    "UnknownLine",
    "check_templates",
    "commands",
    "host_pages",
    "learning",
    "line_changes",
    "line_effects",
    "lines_of",
    "missing_lines",
    "named_by",
    "parse",
    "parse_configuration",
    "port_descriptions",
    "read_bridge",
    "read_state",
    "read_text",
    "render",
    "render_commands",
    "render_configuration",
    "site_commands",
    "site_lines",
    "static_arp",
    "template_findings",
    "with_trusted_lines",
]
