"""What is asked of every transcript of a real switch: that tagloom reads it, and that none of its lines is refuted."""

from tagloom import platforms
from tagloom.platforms.evidence import first_login, settle
from tagloom.platforms.grammar import Grammar
from tagloom.platforms.routeros import EXPORT
from tagloom.read.transcript_file import read_transcript
from tagloom.records.transcript import SHOW
from tagloom.render import parse_configuration


def faults_of(path):
    """Return what a transcript has that tagloom does not read as it means it; an empty list where it is good."""
    transcript = read_transcript(path)
    platform = platforms.load(transcript.model)
    if platform.grammar != transcript.family:
        return [f"{transcript.model} speaks {platform.grammar}, not {transcript.family}"]
    command = Grammar.of(platform).session.running if platform.has_modes else EXPORT
    running = transcript.answer(SHOW, "", command)
    if running is None or (platform.has_modes and Grammar.of(platform).is_error(running)):
        return [f"no answer to {command}"]
    parse_configuration(platform, running)
    both = [*settle(platform, transcript), *first_login(platform, transcript)]
    return [f"{each.words}: {each.why}" for each in both if each.verdict == "refuted"]
