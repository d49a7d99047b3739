"""The wheel: what is in it, and a server from it in an environment that never saw the checkout."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.integration.commands import Serving

CHECKOUT = Path(__file__).resolve().parents[2]


def built(kind: str, source: Path, place: Path) -> Path:
    """Builds an sdist or a wheel from a source tree, with the build tools of this environment."""
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", f"--{kind}", "--outdir", place, source],
        check=True,
        capture_output=True,
    )
    (made,) = place.iterdir()
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that the sdist builds: whatever the sdist forgets is missed here."""
    sdist = built("sdist", CHECKOUT, tmp_path_factory.mktemp("sdist"))
    source = tmp_path_factory.mktemp("source")
    with tarfile.open(sdist) as archive:
        archive.extractall(source, filter="data")
    (unpacked,) = source.iterdir()
    return built("wheel", unpacked, tmp_path_factory.mktemp("wheel"))


def test_wheel_holds_statements_and_migrations_and_no_tests(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    expected = {f"pgrecall/sql/{path.name}" for path in (CHECKOUT / "sql").glob("*.sql")}
    expected |= {
        f"pgrecall/migrations/versions/{path.name}" for path in (CHECKOUT / "migrations/versions").glob("*.py")
    }
    expected |= {"pgrecall/migrations/env.py"}
    modules = (CHECKOUT / "server/pgrecall").rglob("*.py")
    expected |= {str(path.relative_to(CHECKOUT / "server")) for path in modules}
    assert names >= expected
    assert {name.split("/")[0] for name in names} == {"pgrecall", wheel.name.split("-py3")[0] + ".dist-info"}


def test_server_from_the_wheel_passes_the_smoke_test(wheel: Path, database: str, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    python = tmp_path / "venv" / "bin" / "python"
    install = ["install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "--python", python, *install], check=True)
    # What pgrecall depends on, from this environment. Its own .pth files, the checkout's, are not read there.
    (site,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    managed = {"PGRECALL_DATABASE_URL": database}
    with Serving(tmp_path, python=str(python), **managed) as server:
        smoked = subprocess.run(
            [tmp_path / "venv" / "bin" / "pgrecall", "smoke", server.url],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert smoked.returncode == 0, smoked.stdout + smoked.stderr
    where = "from pgrecall.queries import shipped; print(shipped('sql'), shipped('migrations'))"
    places = subprocess.run([python, "-c", where], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert places.stdout.split() == [str(site / "pgrecall" / "sql"), str(site / "pgrecall" / "migrations")]
