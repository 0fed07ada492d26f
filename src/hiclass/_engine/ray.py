"""Local problems on Ray: X is put into the object store once, and tasks slice it there.

joblib's own Ray backend starts a new pool on every call. A running cluster is used as it is, and is
neither re-initialised nor shut down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from joblib.parallel import get_active_backend


def connect(n_jobs: int | None) -> int:
    """Return the largest number of simultaneous tasks; start Ray only if it is not running.

    ``None`` stands for the number in joblib's settings. None there, or a negative number, means the
    whole current cluster: two tasks per processor, so that no processor waits.
    """
    import ray

    if n_jobs is None:
        _, n_jobs = get_active_backend()
    if n_jobs is not None and n_jobs > 0:
        return n_jobs
    if not ray.is_initialized():
        ray.init()  # RAY_ADDRESS, or a cluster of this machine
    return 2 * max(int(ray.cluster_resources().get("CPU", 1)), 1)


def run_on_ray(
    worker: Callable[[list[Any], Any, Any], list[Any]],
    batches: Iterator[list[Any]],
    X: Any,
    shared: Any,
    at_once: int,
) -> Iterator[Any]:
    """Call a worker on batches as Ray tasks, at most ``at_once`` at a time.

    Ray retries a task whose worker died. An error in a task cancels the others.
    """
    import ray
    from ray.exceptions import RayTaskError

    remote = ray.remote(worker)
    X_ref, shared_ref = ray.put(X), ray.put(shared)
    running: list[Any] = []
    try:
        for batch in batches:
            running.append(remote.remote(batch, X_ref, shared_ref))
            if len(running) >= at_once:
                done, running = ray.wait(running, num_returns=1)
                yield from ray.get(done[0])
        while running:
            done, running = ray.wait(running, num_returns=1)
            yield from ray.get(done[0])
    except RayTaskError as error:
        # The error of the classifier itself, with its notes; Ray's wrapper has its traceback.
        if isinstance(error.cause, Exception):
            raise error.cause from error
        raise
    finally:
        for reference in running:
            ray.cancel(reference, force=True)
