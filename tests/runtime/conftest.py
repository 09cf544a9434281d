"""What tests of shards share: small blocks, so that few partials fill some of them."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import pytest

from framefold.runtime.streams import blocks


@pytest.fixture(scope="module", autouse=True)
def small_blocks(request: pytest.FixtureRequest) -> Iterator[None]:
    of_shards = request.module.__name__.rpartition(".")[2].startswith("test_shard")
    with patch.object(blocks, "FULL", 10 if of_shards else blocks.FULL):
        yield
