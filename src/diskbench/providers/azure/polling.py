"""Long-running operations, polled at Azure's intervals while the caller waits."""

import time
from collections.abc import Callable
from typing import Any

from azure.mgmt.core.polling.arm_polling import ARMPolling

from diskbench.ports import RentWatch
from diskbench.providers.azure.errors import refused
from diskbench.providers.waits import CloudTiming, nap


class WatchedPolling(ARMPolling):
    """The SDK's polling with our timeouts: it stops when `watch` does, gives up at `limit_s`,
    and sends each poll through `repeated`, which repeats unanswered ones."""

    def __init__(
        self, what: str, limit_s: float, timing: CloudTiming, watch: RentWatch | None,
        repeated: Callable[[Callable[[], Any]], Any],
    ) -> None:  # fmt: skip
        super().__init__(timeout=timing.first_poll_s)
        self.what, self.limit_s = what, limit_s
        self.timing, self.watch, self.repeated = timing, watch, repeated
        self.deadline = time.monotonic() + limit_s
        self.succeeded = False
        """Whether Azure has reported the end of the operation as a success."""

    def request_status(self, status_link: str) -> Any:  # noqa: ANN401 - as the SDK has it

        def status_now() -> Any:  # noqa: ANN401
            answer = ARMPolling.request_status(self, status_link)
            # By default the SDK treats these as the end of the operation.
            if answer.http_response.status_code in {429, 500, 502, 503, 504}:
                from azure.core.exceptions import HttpResponseError

                answer.http_response.read()
                raise HttpResponseError(response=answer.http_response)
            return answer

        return self.repeated(status_now)

    def update_status(self) -> None:
        """Poll once; remember a success, which the SDK forgets where the result cannot be read."""
        super().update_status()
        self.succeeded = self.status().lower() == "succeeded"

    def _sleep(self, delay: float) -> None:
        if time.monotonic() + delay > self.deadline:
            raise refused(
                "operation too slow", what=self.what, limit_s=self.limit_s, state=self.status()
            )
        nap(delay, self.timing, self.watch)
