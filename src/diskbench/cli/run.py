"""`diskbench run`: measure a disk, here or over SSH."""

from __future__ import annotations

from typing import Annotated

import typer

from diskbench.cli import rent as flags
from diskbench.cli.foreground import Output
from diskbench.cli.stores import DatabaseUrl, EvidenceUrl


def run(
    provider: Annotated[
        str | None,
        typer.Option(help="Where the machine comes from (default: ssh with --host, else local)."),
    ] = None,
    host: Annotated[
        list[str] | None,
        typer.Option(help="USER@HOST[:PORT] to measure over SSH; several are measured at once."),
    ] = None,
    path: Annotated[
        str | None,
        typer.Option(help="Directory to measure in (default here: the working directory)."),
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Block device to measure; ALL DATA ON IT IS DESTROYED.")
    ] = None,
    destroy_data: Annotated[
        str | None,
        typer.Option(
            metavar="IDENTITY", help="The device's identity, as `diskbench devices` prints it."
        ),
    ] = None,
    size: Annotated[
        float | None,
        typer.Option(
            metavar="GIB",
            help="How much of the target to use, or the size of the disk to rent, in GiB (2^30).",
        ),
    ] = None,
    filesystem: Annotated[
        str | None,
        typer.Option(help="Make this filesystem on the device first: none, ext4 or xfs."),
    ] = None,
    profile: Annotated[
        str, typer.Option(help="A profile's name (`diskbench profiles list`) or a .fio file.")
    ] = "default",
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Profile parameter.")
    ] = None,
    runs: Annotated[
        int, typer.Option(help="Consecutive fio runs on the same machine and disk.")
    ] = 1,
    replicates: Annotated[
        int, typer.Option(help="New machines with new disks (providers that rent).")
    ] = 1,
    until_ci: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="Replicates, ten at least, until the interval of the median is within this share "
            "of it in every step: 5%.",
        ),
    ] = None,
    max_replicates: Annotated[
        int | None, typer.Option(help="With --until-ci: the most replicates (30).")
    ] = None,
    deadline: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="With --until-ci: no replicate begins that ends later (6h, 90m)."
        ),
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A label kept with the rows.")
    ] = None,
    promise: Annotated[
        str | None,
        typer.Option(
            metavar="iops=N,mb_per_s=N",
            help="What you expect of the disk, where no catalogue knows it (vsphere, ssh, local).",
        ),
    ] = None,
    if_busy: Annotated[
        str,
        typer.Option(
            metavar="wait|fail|share|TIME",
            help="While another trial measures the same disk: wait, fail, measure beside it "
            "(doubted), or wait so long (30m).",
        ),
    ] = "wait",
    output: Annotated[Output, typer.Option(help="What to print on stdout.")] = "table",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No plan, no progress.")] = False,
    detach: Annotated[
        bool, typer.Option("--detach", help="Go on in the background; print the run's id.")
    ] = False,
    install_fio: Annotated[
        bool, typer.Option("--install-fio", help="Install fio on the target when it has none.")
    ] = False,
    timing: Annotated[
        bool, typer.Option("--timing", help="Say at the end where the time went.")
    ] = False,
    disk: flags.Disk = None,
    iops: flags.Iops = None,
    throughput: flags.Throughput = None,
    count: flags.Count = 1,
    stripe: flags.Stripe = False,
    region: flags.Region = None,
    zone: flags.Zone = None,
    instance_type: flags.InstanceType = None,
    image: flags.Image = None,
    subnet: flags.Subnet = None,
    security_group: flags.SecurityGroup = None,
    placement: flags.Placement = None,
    spot: flags.Spot = False,
    ssh_cidr: flags.SshCidr = None,
    max_cost: flags.MaxCost = None,
    assume_price: flags.AssumePrice = None,
    profile_name: flags.ProfileName = None,
    endpoint_url: flags.EndpointUrl = None,
    subscription: flags.Subscription = None,
    cache: flags.Cache = None,
    performance_tier: flags.PerformanceTier = None,
    bursting: flags.Bursting = False,
    project: flags.Project = None,
    datastore: flags.Datastore = None,
    storage_policy: flags.StoragePolicy = None,
    provisioning: flags.Provisioning = None,
    controller: flags.Controller = None,
    vcpus: flags.Vcpus = None,
    memory: flags.Memory = None,
    template: flags.Template = None,
    network: flags.Network = None,
    datacenter: flags.Datacenter = None,
    cluster: flags.Cluster = None,
    folder: flags.Folder = None,
    resource_pool: flags.ResourcePool = None,
    iops_limit: flags.IopsLimit = None,
    ca_file: flags.CaFile = None,
    insecure: flags.Insecure = False,
    time_scale: flags.TimeScale = 1.0,
    lab_style: flags.LabStyle = None,
    lab_user: flags.LabUser = "root",
    vm_iops: flags.VmIops = None,
    vm_throughput: flags.VmThroughput = None,
    noise: flags.Noise = 0.0,
    stall_every: flags.StallEvery = 0.0,
    stall_for: flags.StallFor = 0.0,
    latency: flags.Latency = 0.0,
    latency_jitter: flags.LatencyJitter = 0.0,
    lab_seed: flags.LabSeed = 0,
    database_url: DatabaseUrl = None,
    evidence_url: EvidenceUrl = None,
) -> None:
    """Measure a disk: render a profile, run fio, keep the evidence, say what it means."""
    typed = dict(locals())  # first, while it holds the options and nothing else
    from diskbench.cli.asked import asked_for
    from diskbench.cli.foreground import Show
    from diskbench.cli.run_until import check_until, start_until
    from diskbench.cli.start import Stores, start

    show, stores = (
        Show(output=output, quiet=quiet, timing=timing),
        Stores(database_url, evidence_url),
    )
    until = check_until(typed)
    if until is not None:
        start_until(typed, until, show, stores)
    asked = asked_for(typed)
    start(
        asked.request,
        show,
        stores,
        install_fio=install_fio,
        detach=detach,
        limit=asked.limit,
    )
