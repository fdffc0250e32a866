"""Live through a story as an operator does: command by command, each refusal's advice followed to its end."""

import json
import random
import shlex
import time
from dataclasses import dataclass, field
from pathlib import Path

from rack_of_story import StoryRack
from tagloom import platforms
from tagloom.read.fabric_text import format_fabric
from tagloom.records.switch_state import Membership, PortMode, SwitchEditor

MOST_WORDS = 10  # commands that the advice of one refusal may take
PREVIEWED = 0.5  # of commands that send: what they say themselves before the first line is judged for all
FOREIGN = (1001, 1002)
BY_ANSIBLE = 5  # one story of so many; commands of the others reach switches over sessions of their own


@dataclass
class Told:
    """What a story came to: a row for each command that sends, one for each refusal, and what disagreed."""

    seed: int
    events: list = field(default_factory=list)
    sent: list = field(default_factory=list)
    refusals: list = field(default_factory=list)
    defects: list = field(default_factory=list)
    by_hand: list = field(default_factory=list)
    commands: list = field(default_factory=list)
    seconds: float = 0.0
    by_ansible: bool = False


class Operator:
    """Who runs tagloom on the rack of a story. `fabric` and `build` are what runs, `before` what ran before that."""

    def __init__(self, story, home):
        self.story, self.home = story, home
        self.told = Told(story.seed)
        self.told.by_ansible = story.seed % BY_ANSIBLE == 0
        fabrics = [story.fabric, *(event.fabric for event in story.events)]
        self.rack = StoryRack(home, fabrics, by_ansible=self.told.by_ansible)
        self.fabric, self.build, self.before = story.fabric, "", None
        self.chance = random.Random(story.seed)
        self.number = 0

    # --- commands ---

    def type(self, *words):
        """Run one command, and note it; a fault of tagloom's own is a defect."""
        inventory = () if words[0] in ("plan", "rollout") else ("-i", "rack")
        began = time.monotonic()
        status, page, said = self.rack.run(*words, *inventory)
        self.told.commands.append(f"{' '.join(words)} -> {status} {time.monotonic() - began:.1f} s")
        with (self.home / "said.jsonl").open("a") as log:  # of a story that disagrees its home is left
            log.write(json.dumps([words, status, page, said]) + "\n")
        if "has a fault" in said or "Traceback" in said or status not in (0, 1, 2, 3):
            self.defect(f"{' '.join(words)}: exit status {status}: {said[-600:]}")
        return status, page, said

    def defect(self, what):
        self.told.defects.append(what)

    def plan(self, fabric, name, *words):
        """Plan a fabric into a build; gives its name, None where that is refused."""
        (self.home / f"{name}.yml").write_text(format_fabric(self.rack.file(fabric)), "utf-8")
        status, page, said = self.type("plan", f"{name}.yml", "-o", name, *words)
        if status and words and page.get("findings", [{}])[0].get("where") != "plan":
            self.note("plan", page, said, status)
            return self.plan(fabric, name)
        if status:
            self.note("plan", page, said, status)
        return None if status else name

    def note(self, verb, page, said, status):
        """Note a refusal by its rule."""
        rule = page.get("refused") or "; ".join(f["expected"] for f in page.get("findings", [])[:2])
        rule = rule or ("drift" if page.get("drift") else f"status {status}: {said.strip()[-200:]}")
        self.told.refusals.append([verb, rule, page.get("advice") or page.get("next") or page.get("resume_with") or ""])
        return rule

    def send(self, words, fabric):
        """Preview a command that sends and run it while hosts send: (status, page). What was cut must be announced."""
        ahead = "--propose" if words[0] == "repair" else "--check"
        preview = self.type(*words, ahead)[1] if self.chance.random() < PREVIEWED else {}
        with self.rack.watching(self.fabric, fabric) as seen:
            status, page, said = self.type(*words)
        announced = [each for each in (preview, page) if "hitless" in each]
        most = max((each["interrupted_pairs"] for each in announced), default=0)
        row = {"command": " ".join(words), "status": status, "worked": len(seen.worked), "cut": len(seen.cut)}
        row |= {"announced": most, "changed": len(page.get("changed", ())), "means": page.get("means") or ""}
        self.told.sent.append(row)
        for what, each in (("preview", preview), ("page", page)):
            if "hitless" in each and status != 3 and len(seen.cut) > each["interrupted_pairs"]:
                cut = f"{len(seen.cut)} pairs cut, {what} says {each['interrupted_pairs']}"
                self.defect(f"UNANNOUNCED {' '.join(words)}: {cut}: {sorted(seen.cut)[:4]}")
        if not announced and seen.cut:
            self.defect(f"UNANNOUNCED {' '.join(words)}: {len(seen.cut)} cut, nothing said: {sorted(seen.cut)[:4]}")
        if seen.storm:
            self.defect(f"STORM {' '.join(words)}: {seen.storm}")
        return status, page, said

    def pursue(self, words, fabric):
        """Run a command that sends, and follow the advice of each refusal to its end: gives the command that did it."""
        seen = []
        for _ in range(MOST_WORDS):
            if words in seen:
                self.defect(f"DEAD END {' '.join(words)}: its advice leads back to it; {self.told.refusals[-1]}")
                return None
            seen.append(words)
            status, page, said = self.send(words, fabric)
            if not status:
                return words
            rule = self.note(words[0], page, said, status)
            following = self.advised(page, words)
            if following is None:
                named = page.get("next") or page.get("findings")
                self.told.by_hand.append([" ".join(words), rule, str(page.get("next", ""))])
                if not named:
                    self.defect(f"DEAD END {' '.join(words)}: no way out is named: {rule}")
                return None
            *first, then = following
            if first:
                seen = []  # what is done first, as planning anew, may let the same command through
            for each in first:
                if each[0] in ("adopt", "plan", "rollout"):
                    status, page, said = self.type(*each)
                    if not status:
                        continue
                    self.note(each[0], page, said, status)
                    instead = self.advised(page, words) if page.get("advice") else None
                    if instead is None or len(instead) > 1:
                        self.told.by_hand.append([" ".join(each), "advice that was refused itself", rule])
                        return None
                    (then,) = instead
                    break
                if not self.pursue(each, self.fabric):
                    return None
            words = then
        self.defect(f"DEAD END {' '.join(words)}: {MOST_WORDS} commands, and no end: {self.told.refusals[-3:]}")
        return None

    def advised(self, page, words):
        """Return the commands that a page advises, the last in place of its own; None where only hands are named."""
        if page.get("advice"):
            advice = self.chance.choice(page["advice"])
            if advice == "rollout --to spanning-tree BUILD":  # of the build that the page names
                build = Path(shlex.split(page["next"].partition(",")[0])[4]).name
                back = ["rollout", "--to", "spanning-tree", build, "-o", f"{build}-back"]
                return [back, ["apply", f"{build}-back", "--allow", "drain"]]
            return self.by_advice(advice, words)
        for key in ("next", "resume_with"):
            if str(page.get(key, "")).startswith("tagloom "):
                typed = shlex.split(page[key])[1:]
                if "-i" in typed:
                    at = typed.index("-i")
                    typed[at : at + 2] = []
                if key == "resume_with" and self.chance.random() < 0.4:
                    typed = ["rollback"]
                return [typed]
        return None

    def by_advice(self, advice, words):
        """Return the commands that an advice means."""
        build = words[1] if len(words) > 1 and not words[1].startswith("-") else self.build
        file, ran = self.file(build), self.file(self.build)
        if advice.startswith("--"):
            return [[*words, *shlex.split(advice)]]
        if advice == "rollout OLD NEW":
            return [["rollout", self.build, build, "-o", f"{build}-change"], ["apply", f"{build}-change"]]
        if advice == "plan --routing tree":
            tree = ran.replace(".yml", "-tree")
            again = ["plan", ran, "-o", tree, "--routing", "tree", "--previous", self.build]
            return [again, ["apply", tree], words]
        if advice.startswith("plan"):
            which = {"plan": [], "plan --previous BUILD": ["--previous"], "plan --keep BUILD": ["--keep"]}[advice]
            return [["plan", file, "-o", build, *which, *([self.build] if which else [])], words]
        if advice == "apply BUILD --drift overwrite" and words[0] == "repair":
            return [["apply", self.build, "--drift", "overwrite"], words]
        if advice == "apply OLD --foreign prune":
            return [shlex.split(advice.replace("OLD", self.build)), words]
        typed = shlex.split(advice.replace("BUILD", build if words[0] == "apply" else str(self.before or self.build)))
        return [typed]

    @staticmethod
    def file(build):
        """Return the fabric file of a build, or of the target of a rollout."""
        return f"{build.partition('-')[0].partition('/')[0]}.yml"

    # --- the end of an event ---

    def arrived(self, fabric, build, words=()):
        """Take a fabric and a build for what runs now, which some words have led to."""
        if words and words[0] == "apply" and words[1].partition("-")[0] == build.partition("-")[0]:
            build = words[1]
        if (self.home / build / "rollout.json").exists():
            build = f"{build}/build"
        if build != self.build:
            self.before = self.build
        self.fabric, self.build = fabric, build
        self.rack.write_inventory(fabric)

    def settled(self, fabric, what):
        """See that all that cables join is reached."""
        for wrong in self.rack.lost(fabric):
            self.defect(f"END {what}: {wrong}")

    # --- events ---

    def first(self):
        """Bring the first build to switches as the factory made them, some with VLANs of others."""
        fabric = self.fabric
        self.rack.write_inventory(fabric)
        if self.story.foreign and not any(platforms.of(switch).is_shell for switch in fabric.switches):
            self.told.events.append("foreign")
            self.rack.type_state(fabric, lambda held: self.shared(fabric, held))
        options = ["--protect", "link"] if self.chance.random() < 0.2 else []
        words = ["apply", "b0", *(["--allow", "interrupt"] if self.chance.random() < 0.8 else [])]
        if self.plan(fabric, "b0", *options) is None or not self.pursue(words, fabric):
            return False
        self.arrived(fabric, "b0")
        self.settled(fabric, "first")
        return True

    def shared(self, fabric, held):
        """Return states with VLANs of others: a port of each at every switch, and some links."""
        found = {}
        on = {vlan: [x for x in fabric.links if self.chance.random() < 0.8] for vlan in FOREIGN}
        for s, switch in enumerate(fabric.switches):
            editor = SwitchEditor.of(held[switch.name])
            for vlan in FOREIGN:
                editor.create_vlan(vlan)
                editor.name_vlan(vlan, "theirs")
                for link in on[vlan]:
                    for end, port in ((link.a, link.a_port), (link.b, link.b_port)):
                        if end == s:
                            editor.mode[port - 1] = PortMode.GENERAL
                            editor.set_member(vlan, port, Membership.TAGGED)
            found[switch.name] = editor.freeze()
        return found

    def live(self, event):
        """Live through one event."""
        self.chance = random.Random(event.seed)
        self.number += 1
        self.told.events.append(event.kind if not event.steps else f"{event.kind}: {' '.join(event.steps)}")
        getattr(self, event.kind)(*([event.fabric] if event.kind in ("change", "interrupted") else []))

    def change(self, fabric):
        """Lead the fabric to another, by apply or a rollout that was made before, and back now and then."""
        name = f"b{self.number}"
        self.rack.write_inventory(fabric, self.fabric)
        if self.plan(fabric, name, *(["--keep", self.build] if self.chance.random() < 0.75 else [])) is None:
            return
        words = ["apply", name]
        if self.chance.random() < 0.25:
            if (made := self.type("rollout", self.build, name, "-o", f"{name}-r"))[0] == 0:
                words = ["apply", f"{name}-r"]
            else:
                self.note("rollout", made[1], made[2], made[0])
        old, build = self.fabric, self.build
        if not (done := self.pursue(words, fabric)):
            return
        self.arrived(fabric, name, done)
        self.settled(fabric, "change")
        if self.chance.random() < 0.3 and self.told.sent[-1]["changed"]:  # else what is undone is a run before
            self.rack.write_inventory(fabric, old)
            if self.pursue(["rollback"], old):
                self.arrived(old, build)
                self.settled(old, "rollback")

    def interrupted(self, fabric):
        """Lead it there while a switch hangs up in the middle, and do what is advised then."""
        name = f"b{self.number}"
        self.rack.write_inventory(fabric, self.fabric)
        if self.plan(fabric, name, "--keep", self.build) is None:
            return
        old, build = self.fabric, self.build
        self.rack.trip(self.chance)
        done = self.pursue(["apply", name], fabric)
        self.rack.mend()
        if done:
            back = done[0] == "rollback"
            self.arrived(*((old, build) if back else (fabric, name, done)))
            self.settled(self.fabric, "interrupted")

    def cable(self):
        """Pull a cable, repair, plug it in again, and lead paths home."""
        if not (links := [link for link in self.fabric.links if link.up]):
            return
        self.rack.pull(self.fabric, self.chance.choice(links))
        if self.pursue(["repair"], self.fabric):
            self.settled(self.fabric, "repair")
        if self.chance.random() < 0.25 and len(links) > 1:  # another, while the first is dead
            self.rack.pull(self.fabric, self.chance.choice(links))
            if self.pursue(["repair"], self.fabric):
                self.settled(self.fabric, "second repair")
        self.rack.mend()
        if self.pursue(["repair", "--hold", "0s"], self.fabric):
            self.settled(self.fabric, "home")

    def switch(self):
        """Take a switch's power, lead the others round it, and take it back as it was."""
        fabric = self.fabric
        switch = self.chance.choice(fabric.switches)
        less = fabric.with_switches_down({fabric.index[switch.name]})
        if len({host.switch for host in less.hosts}) < 2:
            return
        self.rack.kill(switch)
        way = self.chance.choice(["repair", "without", "down"])
        if less.apart:
            way = "repair"
        if way == "repair":
            gone = self.pursue(["repair"], fabric)
        elif way == "without":
            gone = self.pursue(["apply", self.build], fabric)
        else:
            routing = ["--routing", self.chance.choice(["auto", "tree", "up-down"])]
            down = self.plan(less, f"d{self.number}", "--previous", self.build, *routing)
            gone = down is not None and self.pursue(["apply", down], less)
        if gone and way != "repair":
            self.settled(less, f"dead switch, {way}")
        self.rack.mend()
        if way == "repair":
            back = self.pursue(["repair", "--hold", "0s"], fabric)
        elif way == "without":
            back = self.pursue(["apply", self.build, *self.chance.choice([(), ("--readmit", switch.name)])], fabric)
        else:
            name = self.plan(fabric, f"u{self.number}", "--previous", f"d{self.number}")
            back = name is not None and self.pursue(["apply", name, "--readmit", switch.name], fabric)
            if back:
                self.arrived(fabric, name)
        if back:
            self.settled(fabric, f"switch back, {way}")

    def slip(self):
        """Give a host's port another PVID by hand, and set it right as advised."""
        host = self.chance.choice(self.fabric.hosts)
        switch = self.fabric.switches[host.switch]

        def slipped(held):
            editor = SwitchEditor.of(held[switch.name])
            others = [v for v in held[switch.name].owned_vlans if v != editor.pvid[host.port - 1]]
            vlan = self.chance.choice(others) if others else 1
            if platforms.of(switch).is_shell:  # whose PVID is one of the port's VLANs
                editor.set_member(vlan, host.port, Membership.UNTAGGED)
            editor.set_pvid(host.port, vlan)
            return {switch.name: editor.freeze()}

        self.rack.type_state(self.fabric, slipped)
        if self.pursue(["apply", self.build], self.fabric):
            self.settled(self.fabric, "slip")


def live(story, home):
    """Live through a story on a rack of its own: returns what it came to."""
    began = time.monotonic()
    operator = Operator(story, home)
    told = operator.told
    try:
        if operator.first():
            for event in story.events:
                operator.live(event)
    except Exception as error:  # noqa: BLE001 - it is this story's, and the others go on
        told.defects.append(f"JUDGE {type(error).__name__}: {' '.join(str(error).split())[:500]}")
    finally:
        if not told.defects:
            operator.rack.end()
        else:
            operator.rack.stop()
    told.seconds = time.monotonic() - began
    return told
