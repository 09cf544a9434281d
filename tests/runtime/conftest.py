"""What tests of shards share: small pages, so that few partials fill some of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ..support.limits import limit_of, limits


@pytest.fixture(scope="module", autouse=True)
def small_pages(request: pytest.FixtureRequest) -> Iterator[None]:
    of_shards = request.module.__name__.rpartition(".")[2].startswith("test_shard")
    with limits(shard_block_partials=10 if of_shards else limit_of("shard_block_partials")):
        yield
