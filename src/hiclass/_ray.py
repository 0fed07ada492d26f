"""Local problems on Ray, natively: X goes to the object store once, tasks slice it there.

joblib's own Ray backend starts a new pool on every call. A cluster that is running is used as it
is: nothing is re-initialised, nothing is shut down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def run_on_ray(
    worker: Callable[[list[Any], Any, Any], list[Any]],
    batches: Iterator[list[Any]],
    X: Any,
    shared: Any,
) -> Iterator[Any]:
    """Call a worker on batches as Ray tasks, a few more in flight than there are processors.

    Ray itself retries a task whose worker died. An error in a task cancels the others.
    """
    import ray
    from ray.exceptions import RayTaskError

    remote = ray.remote(worker)
    X_ref, shared_ref = ray.put(X), ray.put(shared)
    most = 2 * max(int(ray.cluster_resources().get("CPU", 1)), 1)
    running: list[Any] = []
    try:
        for batch in batches:
            running.append(remote.remote(batch, X_ref, shared_ref))
            if len(running) >= most:
                done, running = ray.wait(running, num_returns=1)
                yield from ray.get(done[0])
        while running:
            done, running = ray.wait(running, num_returns=1)
            yield from ray.get(done[0])
    except RayTaskError as error:
        # The error of the classifier itself, with its notes, not Ray's wrapper.
        raise (error.cause if isinstance(error.cause, Exception) else error) from None
    finally:
        for reference in running:
            ray.cancel(reference, force=True)
