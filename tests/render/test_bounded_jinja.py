"""Templates that others wrote end within bounds of time and memory, and print what Jinja prints otherwise."""

import pytest
from jinja2 import DictLoader, StrictUndefined, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from fabrics import ROOT
from tagloom import platforms
from tagloom.errors import InputError
from tagloom.read.fabric_file import parse_fabric
from tagloom.render import bounded_jinja, page, site_lines, site_page
from tagloom.render.bounded_jinja import BOUNDS, BoundedEnvironment, TooMuchWorkError, at_most

BOUNDED = BoundedEnvironment(undefined=StrictUndefined)
PLAIN = ImmutableSandboxedEnvironment(undefined=StrictUndefined)
DOUBLED = "{{% set ns = namespace(s={}) %}}{{% for i in range(99) %}}{{% set ns.s = {} %}}{{% endfor %}}{{{{ {} }}}}"
TEXTS = [
    *(
        "ns.s ~ ns.s",
        "ns.s + ns.s",
        "ns.s * 2",
        "[ns.s, ns.s]|join",
        "''.join([ns.s, ns.s])",
        "'-%s-%s' % (ns.s, ns.s)",
    ),
    *("'%(a)s%(a)s' % {'a': ns.s}", "'%s%s'|format(ns.s, ns.s)", "'{0}{0}'.format(ns.s)"),
    *("'{a}{a}'.format_map({'a': ns.s})", "ns.s.replace('a', ns.s)", "ns.s|replace('a', ns.s)", "(ns.s|e) + ns.s"),
    *("[ns.s, ns.s]|map('string')|join", "('a'|e).join([ns.s, ns.s])"),
]
LISTS = [
    "ns.s|string",
    "ns.s|tojson",
    "ns.s ~ ''",
    "ns.s == [ns.s]",
    "'%s' % ns.s",
    "'{}'.format(ns.s)",
    "ns.s",
    "ns.s is eq 1",
]
MACRO = "{% macro m(n) %}{% if n %}BODY{% endif %}{% endmacro %}{{ m(60) }}"
CALLS = (
    "{% set ns = namespace(n=60) %}{% block a %}{% if ns.n %}{% set ns.n = ns.n - 1 %}BODY"
    "{% set ns.n = ns.n + 1 %}{% endif %}{% endblock %}"
)
MANY = "{% set l = range(9999)|list %}{% for i in range(9999) %}BODY{% endfor %}"
KEPT = (
    "{% set s = 'ab ' * 9999 %}{% set ns = namespace(l=[]) %}{% for i in range(9999) %}"
    "{% set ns.l = [ns.l, GROWTH] %}{% endfor %}"
)
ENDLESS = [
    *(
        "{{ 9**(9**9) }}",
        "{{ (-9)**(9**9) }}",
        "{{ 'a' * 10**10 }}",
        "{{ 10**10 * 'a' }}",
        "{{ ([0] * 10**10)|length }}",
    ),
    *("{{ ((0,) * 10**9)|length }}", "{% for i in range(10**12) %}{% endfor %}", "{{ range(10**12)|sum }}"),
    "{% for i in range(9999) %}{% for j in range(9999) %}x{% endfor %}{% endfor %}",
    "{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}",
    MANY.replace("BODY", "{% if l[1:][0] %}{% endif %}"),
    KEPT.replace("GROWTH", "s[1:]"),
    "{% for x in range(60) recursive %}{% if loop.depth < 60 %}{{ loop(range(60)) }}{% endif %}{% endfor %}",
    MACRO.replace("BODY", "{{ m(n-1) }}{{ m(n-1) }}"),
    MACRO.replace(
        "BODY",
        "{% if caller is defined %}{{ caller() }}{% endif %}"
        "{% call m(n-1) %}{% endcall %}{% call m(n-1) %}{% endcall %}",
    ),
    CALLS.replace("BODY", "{{ self.a() }}{{ self.a() }}"),
    *(DOUBLED.format("'ab'", growth, "ns.s") for growth in TEXTS),
    DOUBLED.format("[1]", "ns.s + ns.s", "1"),
    *(DOUBLED.format("[1]", "[ns.s, ns.s]", shown) for shown in LISTS),
    *(DOUBLED.format("[1]", "{'a': ns.s, 'b': ns.s}", shown) for shown in LISTS),
    DOUBLED.format("2", "ns.s * ns.s", "ns.s"),
    "{% set n = namespace(s='ab') %}{% for i in range(99) %}{% set n.s %}{{ n.s }}{{ n.s }}{% endset %}{% endfor %}",
    "{% filter upper %}{% for i in range(9999) %}{% for j in range(9999) %}xx{% endfor %}{% endfor %}{% endfilter %}",
    *("{{ '%1000000000d' % 1 }}", "{{ '%*d' % (10**9, 1) }}", "{{ '%.1000000000f' % 1.5 }}"),
    *("{{ '%1000000000d'|format(1) }}", "{{ '%(a)1000000000d'|format(a=1) }}", "{{ '{:1000000000}'.format(1) }}"),
    *(
        "{{ '{:{}}'.format(1, 10**9) }}",
        "{{ 'a'.ljust(10**10) }}",
        "{{ 'a'.zfill(10**10) }}",
        "{{ 'a'|center(10**10) }}",
    ),
    *("{{ ('a'|e).rjust(10**10) }}", "{{ '\t'.expandtabs(10**10) }}", "{{ 'a\nb'|indent(10**10) }}"),
    *("{{ [1]|batch(10**10, 'x')|list }}", "{{ [1]|slice(10**10)|list }}", "{{ 1.5|round(10**10) }}"),
    *("{{ (1).to_bytes(10**10, 'big') }}", "{{ 'ab'.translate({97: 'b' * 9999}) }}", "{{ dict(a='b' * 10**9) }}"),
    *("{{ ([[1]] * 9999)|sum(start=[]) }}", "{{ ('a' * 9999).join(['b'] * 9999) }}"),
    *(KEPT.replace("GROWTH", growth) for growth in ("s.split()", "[i]|batch(4096, 'x')|list", "'a'.ljust(4096)")),
    KEPT.replace("GROWTH", "[i]|slice(4096)|list"),
    "{{ [[[['a'] * 9999]]]|tojson(indent=4000) }}",
    "{{ [2 ** 4000] * 9999 }}",
    "{{ ['a' * 99] * 9999 ~ '' }}",
    "{{ (['a' * 99] * 9999)|upper }}",
    "{{ (['a' * 99] * 9999)|format }}",
    MANY.replace("BODY", "{% if -1 in l %}{% endif %}"),
    MANY.replace("BODY", "{{ l.count(3) }}"),
    MANY.replace("BODY", "{{ l|sort|length }}"),
    MANY.replace("BODY", "{{ 3 is in l }}"),
    MANY.replace("BODY", "{{ l|map('string')|join|length }}"),
]
GONE = ["{{ lipsum(10**8) }}", "{{ 'x'|urlize }}", "{{ 'x'|wordwrap(1) }}", "{{ range(10**30)|list }}", "{{ m.n }}"]
DEEP = [
    *("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "{% block a %}{{ self.a() }}{% endblock %}"),
    "{% for x in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}",
    "{% for a in [1] %}" * 25 + "{% endfor %}" * 25,
    "{{ " + "(" * 300 + "1" + ")" * 300 + " }}",
    "{{ " + "-" * 9999 + "1 }}",
]
LONG = "{# " + "x" * 300_000 + " #}"
HARMLESS = [
    *("{{ 'vlan %d' % 7 }}", "{{ '%02d' % 7 }}", "{{ '%-5s|%5.1f' % ('a', 1.25) }}", "{{ '%(a)s %%' % {'a': 1} }}"),
    *("{{ '{:02d} {}'.format(7, 'x') }}", "{{ '{a:>4}'.format(a=1) }}", "{{ '{a}'.format_map({'a': 1}) }}"),
    *("{{ '%s-%s'|format('a', 1) }}", "{{ 'a' ~ 1 ~ none }}", "{{ 'a' * 3 + 'b' }}", "{{ [1] + [2] * 2 }}"),
    *("{{ 2 ** 10 - 7 // 2 % 2 }}", "{{ 2 ** -1 }}", "{{ 7 / 2 }}", "{{ -3 }}", "{{ ['a', 1]|join(', ') }}"),
    *(
        "{{ [{'n': 'x'}, {'n': 'y'}]|join('-', attribute='n') }}",
        "{{ [1, 2, 3]|sum }}",
        "{{ hosts|map('upper')|join(' ') }}",
    ),
    *("{{ ports|map(attribute='name')|join(',') }}", "{{ ports|selectattr('kind', 'eq', 'host')|list|length }}"),
    *(
        "{{ ports|rejectattr('kind', 'in', ['host'])|map(attribute='name')|first }}",
        "{{ ports|groupby('kind')|length }}",
    ),
    *("{{ ports|sort(attribute='name', reverse=true)|map(attribute='name')|list }}", "{{ {'b': 1, 'a': 2}|dictsort }}"),
    *(
        "{{ 'a b'.split() }}",
        "{{ 'G1'.lower().replace('g', 'gi1/0/') }}",
        "{{ 'a'.ljust(4) ~ '|' }}",
        "{{ 'a,b'|replace(',', ' ') }}",
    ),
    *(
        "{{ 'a'|center(5) }}",
        "{{ 'x\ny'|indent(2) }}",
        "{{ missing|default('d') }}",
        "{{ 3 in [1, 3] and 'a' not in 'b' }}",
    ),
    *(
        "{{ 1 < 2 < 3 }}",
        "{{ 'a' if hosts|length > 1 else 'b' }}",
        "{{ range(3)|list }}",
        "{{ hosts[0:1] }}",
        "{{ 'abc'[1:] }}",
    ),
    *(
        "{{ [1, 2, 3]|batch(2)|list }}",
        "{{ 1.256|round(2) }}",
        "{{ '7'|int + 1 }}",
        "{{ {'a': 1}.items()|list }}",
        "{{ {'a': 1}.get('b', 2) }}",
    ),
    *("{% for h in hosts %}{{ loop.index }}{{ loop.cycle('a', 'b') }}{{ h }}{% else %}none{% endfor %}",),
    *("{% macro m(a, b=2) %}<{{ a }}{{ b }}{{ caller() }}>{% endmacro %}{% call m(3) %}x{% endcall %}",),
    *(
        "{% set x %}a{{ hosts|length }}{% endset %}{{ x }}",
        "{% filter upper %}a{% endfilter %}",
        "{% with a = 1 %}{{ a }}{% endwith %}",
    ),
    *(
        "{% for a in [[1, [2]], [3, []]] recursive %}{{ a[0] }}{{ loop([]) }}{% endfor %}",
        "{% block a %}x{% endblock %}",
    ),
    *(
        "{{ 3 is divisibleby 3 }}",
        "{{ x is defined }}",
        "{{ hosts is iterable }}",
        "{{ 'a'|e }}",
        "{{ true|tojson }}",
        "{{ 'é' }}",
    ),
    *("{% set n = namespace(i=0) %}{% for h in hosts %}{% set n.i = n.i + 1 %}{% endfor %}{{ n.i }}",),
]
VIEW = {"hosts": ["h0", "h1"], "ports": [{"name": "g2", "kind": "link"}, {"name": "g1", "kind": "host"}]}


@pytest.mark.parametrize("text", ENDLESS)
def test_a_template_that_would_take_too_long_or_too_much_is_stopped(text):
    with at_most(20_000), pytest.raises(TooMuchWorkError):
        BOUNDED.from_string(text).render()


@pytest.mark.parametrize("text", [*GONE, *DEEP])
def test_a_template_that_calls_itself_or_what_there_is_not_ends(text):
    faults = TemplateError, ArithmeticError, RecursionError, SyntaxError, MemoryError
    with at_most(2_000_000), pytest.raises(faults):
        BOUNDED.from_string(text).render()


@pytest.mark.parametrize("text", HARMLESS)
def test_a_harmless_template_prints_what_jinja_prints(text):
    with at_most(2000):
        assert BOUNDED.from_string(text).render(VIEW) == PLAIN.from_string(text).render(VIEW)


def test_files_that_include_themselves_are_stopped():
    again = "{% if ns.n %}{% set ns.n = ns.n - 1 %}BODY{% set ns.n = ns.n + 1 %}{% endif %}"
    pages = {"a": again.replace("BODY", "{% include 'a' %}{% include 'a' %}"), "b": "{% include 'b' %}"}
    environment = BoundedEnvironment(loader=DictLoader(pages))
    with at_most(20_000), pytest.raises(TooMuchWorkError):
        environment.from_string("{% set ns = namespace(n=60) %}{% include 'a' %}").render()
    with at_most(20_000), pytest.raises((RecursionError, TooMuchWorkError)):
        environment.get_template("b").render()


def test_the_bounds_of_one_template_are_not_those_of_the_next():
    text = BOUNDED.from_string("{% for i in range(60) %}{{ i }}{% endfor %}")
    for _ in range(3):
        with at_most(200):
            text.render()
    with at_most(100), pytest.raises(TooMuchWorkError, match="more than 100 steps"):
        text.render()


def fabric_with(text, model="powerconnect-5324", name="site/all.j2"):
    fabric = parse_fabric(f"name: row\nmodel: {model}\nshape: {{family: ring, dims: [3]}}\n", "f.yml")
    return fabric.with_templates(((name, text),))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("! a\nsntp server {{ 9**(9**9) }}\n", f"2: expected {BOUNDS}, actual a number of more than 4,096 bits"),
        ("{{ 'a' * 10**10 }}\n", f"1: expected {BOUNDS}"),
        ("! a\n{% for i in range(10**12) %}\n{% endfor %}\n", f"2: expected {BOUNDS}"),
        ("{% for i in range(999) %}{% for j in range(999) %}\nx\n{% endfor %}{% endfor %}\n", f"expected {BOUNDS}"),
        ("{% macro m() %}{{ m() }}{% endmacro %}\n{{ m() }}\n", "expected what a site template is given"),
        (DEEP[3], "expected what a site template is given"),
        (DEEP[4], "templates/site/all.j2:1: expected"),
        (LONG, f"1: expected {BOUNDS}, actual a template of more than 262,144 characters"),
    ],
)
def test_a_site_template_without_end_is_one_finding_with_its_line(monkeypatch, text, said):
    monkeypatch.setattr(site_page, "MOST_WORK", 50_000)
    with pytest.raises(InputError) as refused:
        site_lines(fabric_with(text))
    assert len(refused.value.findings) == 1
    assert said in str(refused.value)


def test_a_template_that_exceeded_its_bounds_is_not_tried_on_the_next_switch(monkeypatch):
    monkeypatch.setattr(site_page, "MOST_WORK", 50_000)
    fabric, spent = fabric_with("{{ 'a' * 10**10 }}\n"), set()
    ends = site_page.cable_ends(fabric)
    assert len(site_page.site_rows(fabric, 0, ends, spent)[1]) == 1
    assert site_page.site_rows(fabric, 1, ends, spent) == ([], [])
    assert spent == {"site/all.j2"}


@pytest.mark.parametrize(("model", "family"), [("powerconnect-5324", "ros"), ("linux-bridge", "linux-bridge")])
def test_an_operators_own_page_without_end_is_a_finding_with_its_line(monkeypatch, model, family):
    monkeypatch.setattr(page, "MOST_WORK", 50_000)
    for text in (
        *ENDLESS[:3],
        LONG,
        "{% for i in range(999) %}{% for j in range(999) %}\nx\n{% endfor %}{% endfor %}",
        *DEEP[3:5],
    ):
        fabric = fabric_with("! a\n" + text, model, f"{family}/configuration.j2")
        with pytest.raises(InputError) as refused:
            page.print_page(ROOT / "templates", platforms.of(fabric.switches[0]), "configuration", title="x")
        (finding,) = refused.value.findings
        assert finding.where.startswith(f"templates/{family}/configuration.j2")
        assert finding.expected == BOUNDS or text in {*DEEP, LONG}


def test_no_filter_of_jinja_is_left_unmetered():
    """A new one in a later Jinja is wrapped as all are; those with a width are known by their parameters."""
    assert not {*bounded_jinja._UNBOUNDED, "lipsum"} & {*BOUNDED.filters, *BOUNDED.globals}
    assert all(each is not PLAIN.filters.get(name) for name, each in BOUNDED.filters.items())
    assert all(each is not PLAIN.tests.get(name) for name, each in BOUNDED.tests.items())
