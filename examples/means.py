"""An aggregate of our own, in a module beside the job."""

import numpy as np

import framefold as ff


class GeometricMean(ff.AggregateOperation):
    """exp(mean(log x)) of a positive column; the same in however many tasks it is accumulated."""

    state = {"logs": "compensated", "count": "int64"}

    def accumulate(self, frames, x):
        return {"logs": frames.compensated_sum(np.log(x)), "count": frames.count(x)}

    def combine(self, a, b):
        return {"logs": a["logs"] + b["logs"], "count": a["count"] + b["count"]}

    def deduct(self, a, b):
        return {"logs": a["logs"] - b["logs"], "count": a["count"] - b["count"]}

    def finish(self, a):
        return np.exp(a["logs"].value() / a["count"])
