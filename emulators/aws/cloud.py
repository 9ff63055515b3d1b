"""What the emulated AWS knows beside moto: faults, what is on its way, the machines behind it."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from diskbench.providers.aws.doctor import policy as printed_policy
from emulators.aws.call import Answer
from emulators.aws.faults import Faults
from emulators.aws.policies import Demand
from emulators.aws.transitions import Transitions
from emulators.guests import Guest, Reach, write_ssh_config
from emulators.monitoring import Monitoring

Name = tuple[str, str, str]
"""Region, kind and id."""


@dataclass
class Late:
    """How many looks are left for each new thing, each deleted one, and each ended instance with
    the state that is still told."""

    new: dict[Name, int] = field(default_factory=dict)
    gone: dict[Name, tuple[int, Any]] = field(default_factory=dict)
    states: dict[Name, tuple[int, Any]] = field(default_factory=dict)

    def clear(self) -> None:
        """Nothing is late."""
        self.new.clear()
        self.gone.clear()
        self.states.clear()


@dataclass
class Tokens:
    """What was answered to each token."""

    seen: dict[tuple[str, str, str], tuple[str, Answer]] = field(default_factory=dict)


@dataclass
class Machine:
    """What stands behind an instance. Its queue does one thing after another in the lab."""

    instance: Any
    guest: Guest
    queue: ThreadPoolExecutor
    indices: dict[str, int] = field(default_factory=dict)
    """Volume id → its number among the disks of the guest, from 0."""
    going: bool = False

    def free_index(self) -> int:
        """The lowest number that no disk has."""
        return next(i for i in range(1000) if i not in self.indices.values())


@dataclass
class Cloud:
    """One emulated account. Everything in it and in moto is changed under `lock` only."""

    state: Path
    time_scale: float = 1.0
    limit_s: float = 3600.0
    lag: int = 0
    """Looks for which new things are absent and deleted ones present."""
    policy: str | None = field(default_factory=printed_policy)
    """What users may do, as a policy of IAM; None is everything."""
    organization: str | None = None
    """A service control policy of the account's organisation, which only denies."""
    fast_restores: dict[str, str] = field(default_factory=dict)
    """Zone → state of Fast Snapshot Restore, of every snapshot."""
    restores: dict[str, dict[str, str]] = field(default_factory=dict)
    """Snapshot → zone → state of Fast Snapshot Restore, where somebody switched it."""
    free_plan: bool = False
    """Whether the account is on the Free plan, which has few machines."""
    spot_role: bool = True
    """Whether the account has the service-linked role of spot machines; users may not make it."""
    not_enabled: frozenset[str] = frozenset()
    """Regions that the account has not enabled."""
    encrypts_with: str | None = None
    """The ARN of a customer's key with which all volumes are encrypted by default."""
    monitoring: Monitoring = field(default_factory=Monitoring)
    metrics_after_s: float = 0.0
    """How long after its end a period of CloudWatch is told; about 120 s at AWS."""
    demanded: list[Demand] = field(default_factory=list)
    """What requests demanded of the policy, in order."""
    late: Late = field(default_factory=Late)
    faults: Faults = field(default_factory=Faults)
    pace: int = 2
    """How many looks each change takes at least."""
    tokens: Tokens = field(default_factory=Tokens)
    transitions: Transitions = field(default_factory=Transitions)
    machines: dict[str, Machine] = field(default_factory=dict)
    reach: dict[str, Reach] = field(default_factory=dict)
    regions: set[str] = field(default_factory=set)
    lock: threading.RLock = field(default_factory=threading.RLock)
    started_at: float = field(default_factory=time.time)
    errors: list[BaseException] = field(default_factory=list)
    """What went wrong in the lab; whoever stops the emulator raises them."""

    @property
    def ssh_config(self) -> Path:
        """The OpenSSH configuration that leads to the machines."""
        return self.state / "ssh_config"

    def image(self, volume: str) -> Path:
        """The file with the content of a volume, made when it is first attached."""
        return self.state / "volumes" / f"{volume}.img"

    def failed(self, error: BaseException) -> None:
        """Something did not work in the lab, and not because a test wanted it."""
        self.errors.append(error)

    def reachable(self, instance: str, reach: Reach | None) -> None:
        """From now on SSH finds the instance there, or not at all."""
        if reach is None:
            self.reach.pop(instance, None)
        else:
            self.reach[instance] = reach
        write_ssh_config(self.ssh_config, self.reach)
