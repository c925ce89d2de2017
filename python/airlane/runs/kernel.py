"""Linux kernels that run as guests in virtual time: built from source, and kept in the user's cache.

A kernel is a User Mode Linux with three small changes outside of `net/`: the frequency of its timer can be
chosen, its random numbers come from a seed, and an interrupt can come with its turn. It is a program of its
own under the GPL-2.0, built on the user's machine; nothing of it is part of airlane.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import resources
from pathlib import Path

from airlane.user_error import UserError

__all__ = [
    "INTERFACE",
    "Kernel",
    "KernelError",
    "build",
    "find",
    "folder",
    "installed",
    "remove",
    "renew_agent",
    "sha256",
]

INTERFACE = 1
"""The version of what a kernel and its agent can do; `airlane_guest::kernels::INTERFACE`."""

_DATA = resources.files("airlane") / "data" / "kernel"
_AGENT = ("agent.c", "agent.h", "network.c")
_DESCRIPTION = "kernel.json"
_BUILD = ".build"
"""Folder of source trees that were built."""

_TOOLS = {
    "make": "make",
    "gcc": "gcc",
    "ld": "binutils",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "tar": "tar",
    "strip": "binutils",
}
"""Programs that a build needs, and their packages in Debian."""

_ESSENTIAL = (
    "STATIC_LINK",
    "UML_TIME_TRAVEL_SUPPORT",
    "VIRTIO_UML",
    "VIRTIO_NET",
    "NET_NS",
    "PACKET",
    "INET",
    "BLK_DEV_INITRD",
    "HOSTFS",
    "PROC_SYSCTL",
)
"""Options without which no guest works."""

_VERSION = re.compile(r"[0-9]+\.[0-9]+")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,62}")

Step = Callable[[str, float], None]
"""Receives the name of a step of a build that has ended, and its seconds."""


class KernelError(UserError):
    """A kernel that cannot be built, found or removed; the message says what would help."""


@dataclass(frozen=True)
class Kernel:
    """A kernel in the cache.

    Attributes
    ----------
    name
        Its name in scenarios.
    release
        Its release, as uname(1) shows it.
    source
        Where its source came from.
    interface
        The version of the interface to guests for which it was built.
    sha256
        Hash of each of its files, by name.
    congestion
        Its congestion controls.
    compiler
        The compiler.
    build_s
        Seconds of each step of its build.
    agent_source
        Hash of the source of its agent; empty in a kernel of an older version of airlane.
    fragment
        Hash of the options that airlane asked for when it was built; empty in a kernel of an older version.
    """

    name: str
    release: str
    source: str
    interface: int
    sha256: dict[str, str]
    congestion: list[str]
    compiler: str
    build_s: dict[str, float]
    agent_source: str = ""
    fragment: str = ""

    @property
    def is_current(self) -> bool:
        """Whether this version of airlane would ask for the same options."""
        return self.fragment == _fragment()

    @property
    def folder(self) -> Path:
        """The folder of its files."""
        return folder() / self.name


def folder() -> Path:
    """The folder of all kernels: `AIRLANE_KERNELS`, or a folder in the user's cache."""
    given = os.environ.get("AIRLANE_KERNELS")
    if given:
        return Path(given)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "airlane" / "kernels"


def installed() -> list[Kernel]:
    """The kernels in the cache, by name. Folders with a description that cannot be read are left out."""
    found = []
    for path in sorted(folder().glob(f"*/{_DESCRIPTION}")):
        try:
            found.append(Kernel(**json.loads(path.read_text(encoding="utf-8"))))
        except (OSError, ValueError, TypeError):
            continue
    return found


def find(name: str) -> Kernel:
    """The kernel of this name.

    Raises
    ------
    KernelError
        If there is none, or if its description cannot be read.
    """
    found = installed()
    for one in found:
        if one.name == name:
            return one
    described = folder() / name / _DESCRIPTION
    if described.exists():
        raise KernelError(f"{described} cannot be read; airlane kernel build {name} --force builds it again")
    known = ", ".join(one.name for one in found) or "none yet"
    raise KernelError(
        f"no kernel {name!r} in {folder()}; there: {known}; airlane kernel build {name} builds it"
    )


def sha256(path: Path) -> str:
    """The hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def remove(name: str) -> None:
    """Remove a kernel, and the source tree in which it was built.

    Raises
    ------
    KernelError
        If there is none of this name.
    """
    own = folder() / name
    if not _NAME.fullmatch(name) or not (own / _DESCRIPTION).is_file():
        known = ", ".join(k.name for k in installed()) or "none"
        raise KernelError(f"no kernel {name!r} in {folder()}; known: {known}")
    shutil.rmtree(own)
    shutil.rmtree(folder() / _BUILD / name, ignore_errors=True)


def build(
    version: str,
    *,
    source: Path | None = None,
    name: str | None = None,
    jobs: int | None = None,
    options: Sequence[str] = (),
    on_step: Step = lambda _step, _seconds: None,
) -> Kernel:
    """Build a kernel and its agent.

    Parameters
    ----------
    version
        The version of Debian's package linux-source, such as 6.12; without effect if `source` is given.
    source
        A kernel's source tree. It is copied and not changed; of a git repository, the files under version
        control. The copy is kept, so that the next build of this name compiles only what has changed.
    name
        The name of the kernel [default: the version, or the name of the tree].
    jobs
        Compilers at once [default: one per core].
    options
        Further lines of the configuration, such as CONFIG_HZ=250.
    on_step
        Receives each step that has ended.

    Raises
    ------
    KernelError
        If a tool is missing, or a step fails.
    """
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        raise KernelError("guest kernels need Linux on x86-64")
    name = name or (source.resolve().name if source else version)
    if not _NAME.fullmatch(name):
        raise KernelError(
            f"{name!r} cannot be the name of a kernel; use letters, digits, '.', '-', '_' and '+'"
        )
    _check_tools()
    steps = _Steps(on_step)
    tree = folder() / _BUILD / name
    tree.mkdir(parents=True, exist_ok=True)
    if source is not None:
        steps.run("copy", lambda: _copy(source, tree))
        origin = _described(source)
    else:
        origin = _unpack(version, tree, steps)
    patch = _change(tree)
    steps.run("configure", lambda: _configure(tree, options))
    at_once = jobs or os.cpu_count() or 1
    steps.run("compile", lambda: _make(tree, "linux", f"-j{at_once}"))
    made = _install(name, tree, (origin, patch), steps)
    if source is None:
        shutil.rmtree(tree)
    return made


class _Steps:
    """Times of the steps of a build."""

    def __init__(self, on_step: Step) -> None:
        self.seconds: dict[str, float] = {}
        self._on_step = on_step

    def run(self, name: str, act: Callable[[], None]) -> None:
        begin = time.monotonic()
        act()
        self.seconds[name] = round(time.monotonic() - begin, 1)
        self._on_step(name, self.seconds[name])


def _check_tools() -> None:
    missing = sorted({package for tool, package in _TOOLS.items() if shutil.which(tool) is None})
    if missing:
        raise KernelError(
            f"a kernel needs tools that are missing; install them: apt install {' '.join(missing)}"
        )
    with tempfile.TemporaryDirectory() as scratch:
        call = ["gcc", "-static", "-x", "c", "-", "-o", f"{scratch}/probe"]
        probe = subprocess.run(call, input=b"int main(void) { return 0; }", capture_output=True, check=False)
    if probe.returncode != 0:
        raise KernelError(
            "a kernel is linked statically, and the static C library is missing: apt install libc6-dev"
        )


def _call(what: str, command: Sequence[str | Path], cwd: Path | None = None) -> str:
    """Run a command of a build; its output. The last lines of a failure are part of the error."""
    environment = {
        **os.environ,
        "LC_ALL": "C",
        "KBUILD_BUILD_TIMESTAMP": "@0",
        "KBUILD_BUILD_USER": "airlane",
    }
    environment["KBUILD_BUILD_HOST"] = "airlane"
    done = subprocess.run(
        [os.fspath(word) for word in command],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    text = done.stdout.decode("utf-8", "replace")
    if done.returncode != 0:
        lines = [line for line in text.splitlines() if "rror" in line] or text.splitlines()
        raise KernelError(f"{what} failed: {' / '.join(lines[-3:])}")
    return text


def _copy(source: Path, tree: Path) -> None:
    """Copy a source tree, as far as it is newer than the last copy."""
    if not (source / "arch" / "um" / "Kconfig").is_file():
        raise KernelError(f"{source} is no source tree of Linux: it has no arch/um/Kconfig")
    if (source / ".git").exists():
        listed = subprocess.run(
            ["git", "-C", os.fspath(source), "ls-files", "-z"], capture_output=True, check=False
        )
        if listed.returncode != 0:
            raise KernelError(f"git ls-files in {source} failed: {listed.stderr.decode().strip()}")
        names = [os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
    else:
        names = [
            os.path.relpath(Path(top) / file, source)
            for top, _, files in os.walk(source)
            for file in files
            if not file.endswith((".o", ".a", ".cmd", ".d"))
        ]
    for name in names:
        given, copy = source / name, tree / name
        if not os.path.lexists(given):
            copy.unlink(missing_ok=True)  # removed, but not yet for git
            continue
        if copy.is_file() and copy.stat().st_mtime >= given.lstat().st_mtime and not given.is_symlink():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.unlink(missing_ok=True)
        shutil.copy2(given, copy, follow_symlinks=False)


def _described(source: Path) -> str:
    """A source tree in words: its path, and the commit of a git repository."""
    call = ["git", "-C", os.fspath(source), "describe", "--always", "--dirty", "--abbrev=12"]
    found = subprocess.run(call, capture_output=True, check=False) if shutil.which("git") else None
    commit = found.stdout.decode().strip() if found is not None and found.returncode == 0 else ""
    return f"{source.resolve()} {commit}".strip()


def _unpack(version: str, tree: Path, steps: _Steps) -> str:
    """Unpack the source of Debian's package; its name and version."""
    if not _VERSION.fullmatch(version):
        raise KernelError(
            f"{version!r} is not a version of Debian's kernel sources, such as 6.12; or use --source"
        )
    package = f"linux-source-{version}"
    here = Path("/usr/src") / f"{package}.tar.xz"
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        origin = os.fspath(here)
        if not here.is_file():
            steps.run("download", lambda: _download(package, scratch))
            found = next(scratch.glob("*.deb"))
            origin = f"Debian {found.stem}"
            here = scratch / "usr" / "src" / f"{package}.tar.xz"
            _call("unpacking the package", ["dpkg-deb", "-x", found, scratch])
        shutil.rmtree(tree)
        tree.mkdir(parents=True)
        unpack: list[str | Path] = ["tar", "-x", "-f", here, "-C", tree, "--strip-components=1"]
        steps.run("unpack", lambda: _done(_call("unpacking the source", unpack)))
    return origin


def _done(_output: str) -> None:
    """Leave the output of a command out."""


def _download(package: str, into: Path) -> None:
    if shutil.which("apt-get") is None:
        raise KernelError("this machine has no apt-get; name a source tree with --source")
    try:
        _call(f"downloading {package}", ["apt-get", "download", "-q", package], into)
    except KernelError as error:
        found = _call("apt-cache", ["apt-cache", "search", "--names-only", r"^linux-source-[0-9]"])
        known = ", ".join(line.split()[0].removeprefix("linux-source-") for line in found.splitlines())
        raise KernelError(
            f"{error}; this machine's package lists have: {known or 'none'} (apt-get update renews them)"
        ) from None


def _change(tree: Path) -> str:
    """Make airlane's three changes; as a patch. A tree that has them stays as it is."""
    entropy = (_DATA / "entropy.c").read_text(encoding="utf-8")
    hz = 'config HZ\n\tint "Frequency of the timer"\n\tdefault 1000\n'
    own = "airlane_getrandom(buf, len, flags)"
    # A guest that says that it is idle gets interrupts with its turn. They must not limit that turn.
    limits = "time < time_travel_shm->free_until"
    waits = "time_travel_ext_req(UM_TIMETRAVEL_WAIT, {});"
    changes = [
        ("arch/um/Kconfig", "config HZ\n\tint\n\tdefault 100\n", hz, ""),
        ("arch/um/os-Linux/util.c", "return getrandom(buf, len, flags)", f"return {own}", entropy),
    ]
    clock = "arch/um/kernel/time.c"
    if "time_travel_shm" in (tree / clock).read_text(encoding="utf-8"):  # since 6.10
        changes += [
            (clock, f"if ({limits})", f"if (running != time_travel_shm_client && {limits})", ""),
            (clock, waits.format("-1"), waits.format("idle ? -2 : -1"), ""),
        ]
    patch: list[str] = []
    for name, before, after, above in changes:
        path = tree / name
        text = path.read_text(encoding="utf-8")
        if after in text:
            continue
        if text.count(before) != 1:
            raise KernelError(
                f"{name} of this tree is not as in Linux 6.1 to 6.12: it lacks {before.strip()!r}"
            )
        at = text.rindex("\n\n", 0, text.index(before)) + 2 if above else 0
        changed = text[:at] + (f"{above}\n" if above else "") + text[at:].replace(before, after)
        path.write_text(changed, encoding="utf-8")
        pair = (text.splitlines(keepends=True), changed.splitlines(keepends=True))
        patch += difflib.unified_diff(*pair, f"a/{name}", f"b/{name}")
    return "".join(patch)


def _configure(tree: Path, options: Sequence[str]) -> None:
    fragment = (_DATA / "fragment.config").read_text(encoding="utf-8")
    lines = fragment.splitlines()
    for option in options:
        key, _, value = option.partition("=")
        if not re.fullmatch(r"CONFIG_[A-Z0-9_]+", key) or not value:
            raise KernelError(f"{option!r} is no line of a configuration, such as CONFIG_HZ=250")
        lines = [line for line in lines if not re.fullmatch(rf"(# )?{key}(=.*| is not set)", line)] + [option]
    file = tree / "airlane.config"
    text = "\n".join(lines) + "\n"
    if (tree / ".config").is_file() and file.is_file() and file.read_text(encoding="utf-8") == text:
        _make(tree, "olddefconfig")
    else:
        file.write_text(text, encoding="utf-8")
        _make(tree, "allnoconfig", f"KCONFIG_ALLCONFIG={file.resolve()}")
    config = (tree / ".config").read_text(encoding="utf-8").splitlines()
    missing = [option for option in _ESSENTIAL if f"CONFIG_{option}=y" not in config]
    if missing:
        raise KernelError(f"this source tree cannot have what a guest needs: {', '.join(missing)}")


def _make(tree: Path, *arguments: str) -> None:
    _call(f"make {arguments[0]}", ["make", "ARCH=um", *arguments], tree)


def _install(name: str, tree: Path, origin: tuple[str, str], steps: _Steps) -> Kernel:
    """Put the files of a kernel into its folder, the description last."""
    source, patch = origin
    own = folder() / name
    fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=folder()))
    try:
        _call("strip", ["strip", "-o", fresh / "linux", tree / "linux"])
        shutil.copyfile(tree / ".config", fresh / "config")
        kept = own / "airlane.patch"
        text = patch or (kept.read_text(encoding="utf-8") if kept.is_file() else "")
        (fresh / "airlane.patch").write_text(text, encoding="utf-8")
        steps.run("agent", lambda: _compile_agent(fresh / "agent"))
        made = Kernel(
            name=name,
            release=(tree / "include/config/kernel.release").read_text(encoding="utf-8").strip(),
            source=source,
            interface=INTERFACE,
            sha256={file: sha256(fresh / file) for file in ("linux", "agent", "config")},
            congestion=_congestion(fresh / "config"),
            compiler=_call("gcc", ["gcc", "--version"]).splitlines()[0],
            build_s=steps.seconds,
            agent_source=_agent_source(),
            fragment=_fragment(),
        )
        _describe(made, fresh)
        fresh.chmod(0o755)
        if own.exists():
            shutil.rmtree(own)
        fresh.rename(own)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return made


def _compile_agent(into: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        for file in _AGENT:
            (Path(name) / file).write_bytes((_DATA / file).read_bytes())
        sources = [Path(name) / file for file in _AGENT if file.endswith(".c")]
        _call("compiling the agent", ["gcc", "-O2", "-static", "-s", "-o", into, *sources])


def _agent_source() -> str:
    return hashlib.sha256(b"".join((_DATA / file).read_bytes() for file in _AGENT)).hexdigest()


def _fragment() -> str:
    return hashlib.sha256((_DATA / "fragment.config").read_bytes()).hexdigest()


def _describe(made: Kernel, into: Path) -> None:
    text = json.dumps(asdict(made), indent=2) + "\n"
    (into / _DESCRIPTION).write_text(text, encoding="utf-8")


def renew_agent(there: Kernel) -> Kernel | None:
    """Compile the agent of a kernel again, where this version of airlane has another one; else None.

    Raises
    ------
    KernelError
        If a tool is missing, or the compiler fails.
    """
    if there.agent_source == _agent_source():
        return None
    _check_tools()
    with tempfile.TemporaryDirectory(prefix=".new-", dir=there.folder) as scratch:
        fresh = Path(scratch)
        _compile_agent(fresh / "agent")
        hashes = {**there.sha256, "agent": sha256(fresh / "agent")}
        made = replace(there, sha256=hashes, agent_source=_agent_source())
        _describe(made, fresh)
        # In this order: if the second does not happen, the next build does both again.
        (fresh / "agent").rename(there.folder / "agent")
        (fresh / _DESCRIPTION).rename(there.folder / _DESCRIPTION)
    return made


_LAWS = {"HSTCP": "highspeed", "HTCP": "htcp"}
"""Names of congestion controls that differ from those of their options."""


def _congestion(config: Path) -> list[str]:
    text = config.read_text(encoding="utf-8")
    found = re.findall(r"^CONFIG_TCP_CONG_([A-Z0-9]+)=y$", text, re.MULTILINE)
    names = [_LAWS.get(option, option.lower()) for option in found if option != "ADVANCED"]
    return sorted({"reno", *names})
