"""Law: what a report says that a network loads is what its frames load, and no VLAN is of two."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagloom.graph.network_loads import network_loads
from tagloom.graph.paths import channel_load
from test_every_plan_is_what_frames_do import damaged, families, graphs
from test_forecasts_of_networks import carried_by_frames, random_traffic
from test_networks import planned, with_networks
from thinned import examples


@examples(15)
@given(st.one_of(graphs(least=3), families()), st.integers(0, 10_000), st.data())
def test_each_networks_load_is_what_its_frames_load(fabric, seed, data):
    fabric = with_networks(data.draw, damaged(data.draw, fabric))
    build, _, _ = planned(fabric, prefer=data.draw(st.sampled_from(["vlans", "load"])))
    if len(fabric.networks) < 2 or not fabric.links:
        return
    volume = random_traffic(seed, fabric).volume_bytes
    for given_volume, counted in ((None, fabric.within_networks), (volume, volume)):
        loads = network_loads(fabric, build.routes, build.state, given_volume)
        assert [each.name for each in loads] == list(fabric.networks)
        capacity = np.repeat([link.capacity_mbps() / 1000.0 for link in fabric.links], 2)
        for each in loads:
            mine = np.isin(np.arange(len(fabric.hosts)), fabric.networks[each.name])
            own = carried_by_frames(fabric, build.state, counted * mine[:, None])
            assert each.load == pytest.approx(own if given_volume is None else own / capacity)
        assert sum(each.load for each in loads) == pytest.approx(channel_load(fabric, build.routes, given_volume))
    for one in loads:  # no VLAN is of two
        assert one.vlans
        assert not any(set(one.vlans).intersection(other.vlans) for other in loads if other is not one)
