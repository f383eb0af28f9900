"""What users test their own adapters and graphs with.

- `every_crash_point`: a workflow killed at each of its storage requests, its effects counted.
- `explore`, `simulate`: a graph in seeded orders, with crashes, in one thread.
- `FaultySaver`: a saver that fails, hangs or dies at its nth request.
- `PostgresProxy`: a network before a Postgres server that cuts, hangs and delays on request.
- `SaverConformance` (`savers`), `StoreConformance` (`stores`): what every adapter promises.
- `models`: chat models that play a script. `fork` (`processes`): processes that tests can kill.
"""

import sys
from typing import TYPE_CHECKING

from plait.common.lazy import lazily

if TYPE_CHECKING:
    from plait.testing.crashes import (
        CrashPoint,
        CrashReport,
        Effects,
        auntil_done,
        every_crash_point,
        next_input,
        until_done,
    )
    from plait.testing.faults import FaultySaver, InjectedCrash, InjectedFailure
    from plait.testing.models import ScriptedChatModel
    from plait.testing.native_savers import NativeSaverConformance
    from plait.testing.processes import Child, fork
    from plait.testing.proxy import NetworkFault, PostgresProxy
    from plait.testing.savers import SaverConformance
    from plait.testing.simulation import (
        Crash,
        SimEnv,
        SimResult,
        SimulatedCrash,
        SimulationError,
        explore,
        simulate,
    )
    from plait.testing.stores import StoreConformance

_HOMES = {
    "Child": "processes",
    "Crash": "simulation",
    "CrashPoint": "crashes",
    "CrashReport": "crashes",
    "Effects": "crashes",
    "FaultySaver": "faults",
    "InjectedCrash": "faults",
    "InjectedFailure": "faults",
    "NativeSaverConformance": "native_savers",
    "NetworkFault": "proxy",
    "PostgresProxy": "proxy",
    "SaverConformance": "savers",
    "ScriptedChatModel": "models",
    "SimEnv": "simulation",
    "SimResult": "simulation",
    "SimulatedCrash": "simulation",
    "SimulationError": "simulation",
    "StoreConformance": "stores",
    "auntil_done": "crashes",
    "every_crash_point": "crashes",
    "explore": "simulation",
    "fork": "processes",
    "next_input": "crashes",
    "simulate": "simulation",
    "until_done": "crashes",
}
__getattr__ = lazily(__name__, _HOMES)

if (_pytest := sys.modules.get("pytest")) is not None:  # so that failed promises show their values
    _suites = [f"{__name__}.{suite}" for suite in ("savers", "native_savers", "stores")]
    _pytest.register_assert_rewrite(*[suite for suite in _suites if suite not in sys.modules])

__all__ = [
    "Child",
    "Crash",
    "CrashPoint",
    "CrashReport",
    "Effects",
    "FaultySaver",
    "InjectedCrash",
    "InjectedFailure",
    "NativeSaverConformance",
    "NetworkFault",
    "PostgresProxy",
    "SaverConformance",
    "ScriptedChatModel",
    "SimEnv",
    "SimResult",
    "SimulatedCrash",
    "SimulationError",
    "StoreConformance",
    "auntil_done",
    "every_crash_point",
    "explore",
    "fork",
    "next_input",
    "simulate",
    "until_done",
]
