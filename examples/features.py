"""Point-in-time features for a model: what was known of each customer just before each label, and nothing later.

Each label is a row with a customer and a time. For each there is one window of a week and one of a day that end at its
time and leave that time itself out, so that no feature sees the event that it is to predict, nor any after it.
"""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import framefold as ff


def features(payments: pa.Table, labels: pa.Table) -> pa.Table:
    """The labels with the features of their customers: a row for each label, also where there was no payment before.

    Parameters
    ----------
    payments
        ``customer``, ``time`` and ``amount``.
    labels
        ``customer``, ``at`` and ``fraud``; a customer has at most one at a time.
    """
    found = labels
    for name, days in (("week", 7), ("day", 1)):
        since = pc.subtract(labels["at"], pa.scalar(dt.timedelta(days=days)))
        windows = ff.windows_from(labels.append_column("since", since), start="since", end="at", by="customer", at="at")
        of_window = (
            ff.events(payments, time="time", by="customer")
            .window(windows)
            .aggregate(
                **{
                    f"payments_{name}": ff.Count(),
                    f"spent_{name}": ff.Sum("amount"),
                    f"largest_{name}": ff.Max("amount"),
                }
            )
        )
        found = found.join(of_window.drop_columns("window"), ["customer", "at"])
    return found.sort_by([("customer", "ascending"), ("at", "ascending")])


def make(customers: int = 50, days: int = 30, seed: int = 1) -> tuple[pa.Table, pa.Table]:
    """Made-up payments, and labels at the times of some of them."""
    random = np.random.default_rng(seed)
    rows = customers * days * 2
    seconds = np.sort(random.choice(days * 86_400, rows, replace=False))
    times = np.datetime64("2024-05-01", "us") + seconds.astype("timedelta64[s]")
    customer = random.integers(0, customers, rows)
    payments = pa.table({"customer": customer, "time": times, "amount": random.integers(1, 500, rows) / 4})
    labelled = np.sort(random.choice(rows, rows // 20, replace=False))
    fraud = pa.array(random.random(len(labelled)) < 0.1)
    return payments, pa.table({"customer": customer[labelled], "at": times[labelled], "fraud": fraud})


if __name__ == "__main__":
    table = features(*make())
    print(f"{len(table)} labels, each with {table.num_columns - 3} features:")
    for row in table.slice(0, 3).to_pylist():
        print(row)
