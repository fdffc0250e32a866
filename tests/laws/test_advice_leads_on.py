"""Law: the advice of a refusal, followed to its end, leads to a proven change, or to a cause to be removed by hand."""

import random
import sys
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrics import ROOT, make_fabric, make_irregular
from tagloom import pipeline, platforms
from tagloom.apply.site import Site
from tagloom.errors import AT_ONCE, InputError, PlanError
from tagloom.operate import prepare
from tagloom.pipeline.proving import proof_services
from tagloom.pipeline.rollouts import greenfield
from tagloom.platforms.factory import factory_state
from tagloom.records.build import Build
from tagloom.records.switch_state import FabricState
from tagloom.rollout import STRATEGIES, readmission
from tagloom.rollout.foreign import without_members
from tagloom.rollout.pruning import laid_over, pruned_first, pruning, pruning_wave, refuse_harm_to_others
from tagloom.verify import verify
from thinned import examples, few

sys.path.insert(0, str(ROOT / "tests" / "rollout"))
from test_dead_parts import a_fabric
from test_pruning import PORTS, shared

from test_stories_of_growth import stories

MODEL = "powerconnect-5324"
# What no option of tagloom's changes: who reads it goes to the switches, or to the fabric file.
BY_HAND = (
    "VLANs of others neither loop",
    "VLANs of others are pruned where",
    "a VLAN id of ",
    "switch ",
)


@dataclass
class Story:
    """A change that somebody wants, with the options that were followed so far."""

    old: Build | None
    new: Build
    before: FabricState | None = (
        None  # what runs, where that is more than the old build; the factory's where there is no old one
    )
    options: dict = field(default_factory=dict)

    in_one_go: bool = False

    def tried(self):
        """Return the state that the change leads to. Raises PlanError."""
        fabric, options = self.new.fabric, dict(self.options)
        foreign = options.pop("foreign", "refuse")
        if self.in_one_go:
            return self.set_up(foreign == "prune")
        if self.old is None:
            return greenfield(self.new, before=self.before, foreign=foreign, **options).after
        if self.before is None:
            return pipeline.rollout_between(self.old, self.new, **options).after
        order = partial(pipeline.rollout, fabric, **options)
        after = laid_over(fabric, self.before, self.new.state)
        return pruned_first(fabric, proof_services(fabric), self.before, after, order, foreign=foreign).after

    def set_up(self, prune):
        """Return what an apply to all switches at the same time leads to, where it is not refused."""
        fabric, before = self.new.fabric, self.before or {}
        services = proof_services(fabric)
        after = laid_over(fabric, before, self.new.state) if before else self.new.state
        cells, _ = pruning(fabric, services, before, after) if prune else ({}, "")
        if cells:
            pruning_wave(services, before, cells)
        after = without_members(after, cells)
        refuse_harm_to_others(services, after, prunable=not prune)
        return after


@dataclass
class Readmission(Story):
    """A switch that came back while the others run another plan than the one that is asked for."""

    name: str = ""

    def tried(self):
        """Return the state that the change leads to. Raises PlanError."""
        services = proof_services(self.new.fabric)
        return readmission(self.new.fabric, self.before, self.new.state, services, self.name).after


@dataclass
class Apply(Story):
    """A build that is applied to a fabric that runs another."""

    home: Path = Path()

    def tried(self):
        """Return the state that the change leads to. Raises PlanError."""
        fabric, directory = self.new.fabric, self.home / "build"
        texts = pipeline.render(fabric, self.new.state, ROOT / "templates")
        proof = verify(fabric, self.new.state)
        pipeline.write_build(self.new, proof, texts, directory)
        site = Site(self.home / "inventory", ROOT, {}, "run")
        after = laid_over(fabric, self.before, self.new.state)
        led = prepare.order_change(prepare.prepare(directory), self.before, after, site, **self.options)
        return led.sequence.states[-1] if led.sequence.states else after


def over_a_tree(story):
    """Change in two rollouts, over a plan of one tree."""
    fabric = story.old.fabric
    tree = pipeline.plan(fabric, Path(), routing="tree", texts=False, previous=story.old)[0]
    options = {"allow_drain": True}
    followed(Story(story.old, tree, options=options))
    return replace(story, old=tree, options=options)


def beside_what_runs(story):
    """Plan again beside what runs, as the build of it says."""
    running = replace(story.old, state=story.before)
    return replace(story, new=pipeline.plan(story.new.fabric, Path(), texts=False, previous=running)[0])


FOLLOWED = {
    "--allow drain": lambda story: replace(story, options={**story.options, "allow_drain": True}),
    "--strategy auto": lambda story: replace(story, options={**story.options, "strategy": "auto"}),
    "--foreign prune": lambda story: replace(story, options={**story.options, "foreign": "prune"}),
    "plan": lambda story: replace(story, new=pipeline.plan(story.new.fabric, Path(), texts=False)[0]),
    "plan --routing tree": over_a_tree,
    "plan --previous BUILD": beside_what_runs,
    AT_ONCE: lambda story: replace(story, in_one_go=True),
}


def refusal(story):
    """Return why a change is refused, None where it leads to a state that proves."""
    try:
        state = story.tried()
    except PlanError as refused:
        return refused
    live = {switch.name: state[switch.name] for switch in story.new.fabric.switches}
    assert verify(story.new.fabric.with_links_up(), live).proven
    return None


def followed(story):
    """Follow the first advice of each refusal to the end; return all that was said on the way."""
    seen = []
    while (refused := refusal(story)) is not None:
        if not refused.advice:
            assert refused.rule.startswith(BY_HAND), f"no way on from: {refused}"
            assert refused.next_step, f"nothing to be done is named: {refused}"
            return [*seen, refused.rule]
        assert all(each in FOLLOWED for each in refused.advice if each != "rollout OLD NEW")
        assert refused.advice[0] not in seen, f"advice that was followed is given again: {refused}"
        seen.append(refused.advice[0])
        story = FOLLOWED[seen[-1]](story)
    return seen


def network(chance):
    """Draw a fabric and a link off of it, so that all hosts are still connected."""
    if chance.random() < 0.5:
        fabric = make_fabric(
            *chance.choice([("ring", 4), ("mesh", 3, 2), ("complete", 4), ("torus", 3, 2)]), model=MODEL
        )
    else:
        switches = chance.randint(3, 6)
        links = [(chance.randrange(s), s) for s in range(1, switches)]
        links += [chance.sample(range(switches), 2) for _ in range(chance.randint(1, 4))]
        fabric = make_irregular([1] * switches, links, model=MODEL)
    fabric = replace(fabric, shape=None)
    off = [i for i in range(len(fabric.links)) if not fabric.with_links_down({i}).apart]
    return fabric, fabric.with_links_down(set(chance.sample(off, 1))) if off else fabric


def planned(chance, fabric, **options):
    return pipeline.plan(
        fabric, Path(), routing=chance.choice(["auto", "up-down", "tree", "any"]), texts=False, **options
    )[0]


def one_fabric(chance):
    """Another plan, with all the strategies that can be asked for."""
    fabric, less = network(chance)
    ends = [
        planned(chance, each, assignment=chance.choice(["fixed", "renamed"]))
        for each in chance.sample([fabric, less], 2)
    ]
    strategy = chance.choice([each for each in STRATEGIES if each != "drain"])
    return Story(*ends, options={"strategy": strategy})


def flow_control(chance):
    """Another plan with PAUSE: dependency cycles count, and links train anew."""
    fabric, less = network(chance)
    ends = [
        planned(chance, replace(each, flow_control=chance.random() < 0.7)) for each in chance.sample([fabric, less], 2)
    ]
    return Story(*ends)


def from_factory(chance):
    """A network from the factory, shared or not, with a switch that somebody set otherwise now and then."""
    fabric, _ = network(chance)
    before = {switch.name: factory_state(platforms.of(switch)) for switch in fabric.switches}
    if chance.random() < 0.6:
        before = shared(
            fabric, before, {vlan: [i for i in range(len(fabric.links)) if chance.random() < 0.9] for vlan in PORTS}
        )
    if chance.random() < 0.3:
        name = chance.choice(list(before))
        before[name] = replace(before[name], spanning_tree=False)
    return Story(None, planned(chance, fabric), before)


def shared_network(chance):
    """A link comes on, or goes off, under VLANs of others that are on all links."""
    fabric, less = network(chance)
    old, new = (planned(chance, each) for each in chance.choice([(less, fabric), (fabric, less)]))
    on = {vlan: [i for i in range(len(fabric.links)) if chance.random() < 0.9] for vlan in PORTS}
    return Story(old, new, shared(fabric, old.state, on))


KINDS = [one_fabric, flow_control, from_factory, shared_network]


def told(seed):
    chance = random.Random(seed)
    return followed(KINDS[seed % len(KINDS)](chance))


@pytest.mark.parametrize("seed", range(24))
def test_advice_leads_to_the_end(seed):
    told(seed)


@pytest.mark.parametrize("seed", range(4))
def test_a_switch_that_comes_back_under_another_plan_is_readmitted_in_the_end(seed):
    chance = random.Random(seed)
    fabric, s = a_fabric(chance)
    name = fabric.switches[s].name
    old = planned(chance, fabric)
    before = {**old.state, name: factory_state(platforms.load(MODEL))}
    story = Readmission(old, planned(chance, fabric.with_links_down(set())), before, name=name)
    assert followed(story) in ([], ["plan --previous BUILD"])


@pytest.mark.parametrize("seed", few(range(12), 0, 1))
def test_a_build_that_takes_ids_in_use_is_applied_in_the_end(seed, tmp_path):
    chance = random.Random(seed)
    fabric, less = network(chance)
    old, new = (planned(chance, each) for each in (fabric, less))
    said = followed(Apply(old, new, old.state, home=tmp_path))
    assert set(said) <= {"plan --previous BUILD", "--allow drain"}


@examples(60)
@given(stories(), st.booleans())
def test_advice_on_a_fabric_that_grows_or_shrinks_leads_to_the_end(story, keep):
    old, new = story
    a = pipeline.plan(old, Path(), texts=False)[0]
    b = pipeline.plan(new, Path(), texts=False, keep=a if keep else None)[0]
    with suppress(InputError):  # what no rollout leads between is said as findings
        followed(Story(a, b))


@pytest.mark.long
def test_advice_leads_to_the_end_in_two_hundred_stories():
    said = [each for seed in range(24, 224) for each in told(seed)]
    assert {"--foreign prune", "--strategy auto", "--allow drain", AT_ONCE} <= set(said)
