"""Which mutants of a file are there?

Cosmic Ray's operators make them. Of its comparisons, and of its arithmetic, those are taken that a person could have
written by mistake: ``<=`` for ``<``, not ``is`` for ``<``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

from .places import Places

COMPARISONS = "Lt_LtE LtE_Lt Gt_GtE GtE_Gt Lt_Gt Gt_Lt LtE_GtE GtE_LtE Eq_NotEq NotEq_Eq Is_IsNot IsNot_Is"
ARITHMETIC = (
    "Add_Sub Sub_Add Mul_Add Mul_FloorDiv Div_Mul FloorDiv_Mul Mod_FloorDiv Pow_Mul "
    "LShift_RShift RShift_LShift BitOr_BitAnd BitAnd_BitOr BitXor_BitAnd"
)
UNARY = "Delete_Not Delete_USub Delete_Invert"
FAMILIES = {
    "comparison": [f"core/ReplaceComparisonOperator_{each}" for each in COMPARISONS.split()],
    "arithmetic": [f"core/ReplaceBinaryOperator_{each}" for each in ARITHMETIC.split()],
    "unary": [f"core/ReplaceUnaryOperator_{each}" for each in UNARY.split()],
    "condition": ["core/AddNot"],
    "logic": ["core/ReplaceAndWithOr", "core/ReplaceOrWithAnd"],
    "boolean": ["core/ReplaceTrueWithFalse", "core/ReplaceFalseWithTrue"],
    "number": ["core/NumberReplacer"],
    "loop": ["core/ZeroIterationForLoop", "core/ReplaceBreakWithContinue", "core/ReplaceContinueWithBreak"],
}
"""Cosmic Ray's operators by families. A line's family is drawn first: there are many more operators of arithmetic."""


@dataclass(frozen=True)
class Mutation:
    """A place that an operator can change."""

    family: str
    operator: str
    occurrence: int
    line: int
    function: str


def mutations(text: str) -> Iterator[Mutation]:
    """Return the mutations of a file that are allowed."""
    places, nodes = Places(text), list(ast_nodes(get_ast(text)))
    for family, names in FAMILIES.items():
        for name in names:
            operator = get_operator(name)()
            positions = (each for node in nodes for each in operator.mutation_positions(node))
            for occurrence, (start, _) in enumerate(positions):
                if statement := places(start):
                    yield Mutation(family, name, occurrence, start[0], statement.function)


def mutate(text: str, mutation: Mutation) -> tuple[int, str, str] | None:
    """Return the number of the line that changes, and its text before and after. None if there is no such line."""
    changed = mutate_code(text, get_operator(mutation.operator)(), mutation.occurrence)
    before, after = text.splitlines(), (changed or "").splitlines()
    lines = [number for number, pair in enumerate(zip(before, after, strict=False)) if len(set(pair)) > 1]
    try:
        compile("\n".join(after), "mutant", "exec")
    except SyntaxError:
        return None
    if len(before) != len(after) or len(lines) != 1:
        return None
    return lines[0] + 1, before[lines[0]].strip(), after[lines[0]].strip()
