"""How the probe comes in, and how it stays out."""

import os

from probe_support import BYE, HELLO, PROBE, STEP

SHOW_PROBE_MODULES = """
import sys
import torch
print(sorted(name for name in sys.modules if name.startswith("eroica")))
print([type(finder).__name__ for finder in sys.meta_path if type(finder).__name__ == "ModuleWatcher"])
"""
STEP_ONCE = """
import torch
torch.optim.SGD().step()
"""
RANK = {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "EROICA_JOB": "job-1"}


def test_inert_without_its_variable(start_job):
    out, err = start_job(SHOW_PROBE_MODULES).finish()
    assert out == "[]\n[]\n"
    assert err == ""


def test_one_variable_turns_it_off(start_job, folder):
    out, err = start_job(SHOW_PROBE_MODULES, folder, {"EROICA_DISABLE": "1"}).finish()
    assert out == "[]\n[]\n"
    assert err == ""
    assert os.listdir(folder) == []


def test_says_hello_when_torch_is_imported(start_job, agent, folder):
    job = start_job("import sys, torch; sys.stdin.readline()", folder, RANK)
    hello = agent.expect(HELLO)
    assert hello["pid"] == job.pid
    assert (hello["rank"], hello["world_size"], hello["local_rank"]) == (3, 8, 1)
    assert (hello["job"], hello["program"], hello["torch"]) == ("job-1", "train.py", "2.9.9+standin")
    assert hello["started_by"] == "sitecustomize"
    assert hello["launcher"] is False
    assert hello["capabilities"]["step_hook"] is True
    assert hello["capabilities"]["kineto_daemon"] is False
    assert os.stat(hello.sender).st_mode & 0o777 == 0o600
    job.go_on()
    job.finish()
    assert agent.expect(BYE)["kind"] == "exit"
    assert os.listdir(folder) == ["probe"]


def test_nothing_happens_before_torch_is_imported(start_job, agent, folder):
    program = "import threading, os; print(threading.active_count(), os.listdir(%r))" % folder
    out, _ = start_job(program, folder, RANK).finish()
    assert out == "1 ['probe']\n"
    assert agent.kinds() == []


def test_import_by_hand(start_job, agent, folder):
    for program in ("import eroica_probe, torch", "import torch, eroica_probe, eroica_probe"):
        job = start_job(program, folder, RANK, path=(*_default_path(), PROBE), site=False)
        job.finish()
        assert agent.expect(HELLO)["started_by"] == "import"
        agent.expect(BYE)


def test_started_twice_marks_a_step_once(start_job, agent, folder):
    job = start_job("import eroica_probe" + STEP_ONCE, folder, RANK, path=(*_default_path(), PROBE))
    job.finish()
    assert agent.kinds().count(STEP) == 1


def test_installed_package_starts_by_pth(start_job, agent, folder, tmp_path):
    (tmp_path / "eroica_probe").symlink_to(PROBE / "eroica_probe")
    (tmp_path / "eroica_probe.pth").symlink_to(PROBE / "eroica_probe.pth")
    program = "import site; site.addsitedir(%r); import sys, torch; print('eroica_probe' in sys.modules)"
    program %= str(tmp_path)
    out, _ = start_job(program, folder, RANK, site=False).finish()
    assert out == "True\n"
    assert agent.expect(HELLO)["started_by"] == "pth"
    out, err = start_job(program, site=False).finish()
    assert (out, err) == ("False\n", "")


def test_original_sitecustomize_runs_as_if_alone(start_job, agent, folder, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("answer = 42\nprint(__name__, __file__)\n")
    program = """
    import sys, sitecustomize
    print(sitecustomize.answer, sitecustomize.__spec__.name, any("probe/site" in p for p in sys.path))
    import torch
    """
    for where in (folder, None):
        out, err = start_job(program, where, RANK, path=(tmp_path, *_default_path())).finish()
        assert out == "sitecustomize %s\n42 sitecustomize False\n" % (tmp_path / "sitecustomize.py")
        assert err == ""
    agent.expect(HELLO)


def test_original_sitecustomize_that_fails_is_reported_by_python(start_job, agent, folder, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("raise ValueError('mine')\n")
    _, err = start_job("import torch", folder, RANK, path=(tmp_path, *_default_path())).finish()
    assert "ValueError: mine" in err
    agent.expect(HELLO)


def test_import_hooks_of_others_go_on_working(start_job, agent, folder):
    program = """
    import importlib.util, sys

    class Watcher:  # as post-import libraries do it: asks all others, wraps the loader
        busy = False
        def find_spec(self, name, path=None, target=None):
            if name != "torch" or Watcher.busy:
                return None
            Watcher.busy = True
            spec = importlib.util.find_spec(name)
            Watcher.busy = False
            loader = spec.loader
            execute = loader.exec_module
            def exec_module(module):
                execute(module)
                print("seen", module.__name__)
            loader.exec_module = exec_module
            return spec

    sys.meta_path.insert(0, Watcher())
    print(type(importlib.util.find_spec("torch").loader).__name__)
    import torch, torch.utils.data
    print(type(torch.__loader__).__name__, torch.__spec__.loader is torch.__loader__)
    print([type(f).__name__ for f in sys.meta_path].count("ModuleWatcher"))
    importlib.reload(torch)
    """
    out, err = start_job(program, folder, RANK).finish()
    assert out == "SourceFileLoader\nseen torch\nSourceFileLoader True\n0\nseen torch\n"
    assert err == ""
    assert agent.kinds() == [HELLO, BYE]


def test_torch_missing_or_broken(start_job, agent, folder, tmp_path):
    program = """
    for _ in range(2):
        try:
            import torch
        except ImportError as error:
            print(error)
    """
    out, _ = start_job(program, folder, RANK, path=()).finish()
    assert out == "No module named 'torch'\n" * 2
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise ImportError('broken')\n")
    out, _ = start_job(program, folder, RANK, path=(tmp_path,)).finish()
    assert out == "broken\n" * 2
    assert agent.kinds() == []


def test_something_else_called_torch(start_job, folder, tmp_path):
    """A namespace package, and a module with none of the expected names."""
    (tmp_path / "a" / "torch").mkdir(parents=True)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "torch.py").write_text("optim = None\n")
    for place in ("a", "b"):
        _, err = start_job("import torch; print(torch)", folder, RANK, path=(tmp_path / place,)).finish()
        assert err == ""


def test_folders_that_cannot_be_used(start_job, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    for folder in ("/nowhere/at/all", "/proc", str(file), "relative", "/tmp/" + "long" * 40, "/tmp/\udcff"):
        out, err = start_job(STEP_ONCE * 3 + "print('trained')", folder, RANK).finish()
        assert (out, err) == ("trained\n", "")


def test_folder_that_comes_late(start_job, agent, folder):
    late = os.path.join(folder, "late")
    program = """
    import sys, torch
    sys.modules["eroica_probe.probe"].BIND_INTERVAL_S = 0
    optimizer = torch.optim.SGD()
    optimizer.step()
    print("stepped", flush=True)
    sys.stdin.readline()
    optimizer.step()
    """
    job = start_job(program, late, RANK)
    # The interval of the first try was set before the program could change it.
    assert job.line() == "stepped"
    os.mkdir(late)
    agent.close()
    agent.path = os.path.join(late, "probe")
    agent.bind()
    job.go_on()
    job.finish()
    kinds = agent.kinds()
    assert kinds in ([], [HELLO, STEP, BYE], [STEP, HELLO, BYE])


def test_bypassed_by_isolated_python(start_job, folder):
    out, _ = start_job("import sys; print('eroica_probe' in sys.modules)", folder, arguments=["-I"]).finish()
    assert out == "False\n"


def _default_path():
    from probe_support import STAND_IN

    return (STAND_IN,)
