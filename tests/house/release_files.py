"""What a release is made of is read by the tools that are for it: the recipe, the citation, the wheels to build.

``make release-files`` runs it in an environment that has them.
"""

import subprocess
import sys
from pathlib import Path

from rattler_build import PlatformConfig, RenderConfig, Stage0Recipe, VariantConfig

ROOT = Path(__file__).parents[2]
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
PLATFORMS = ["linux-64", "linux-aarch64", "osx-64", "osx-arm64", "win-64"]
WHEELS = {
    "linux": ["manylinux_x86_64", "manylinux_aarch64"],
    "macos": ["macosx_x86_64", "macosx_arm64"],
    "windows": ["win_amd64"],
}


def said(*command: str) -> str:
    """What a tool of this environment prints."""
    tool = Path(sys.executable).with_name(command[0])
    done = subprocess.run([tool, *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


recipe = Stage0Recipe.from_file(str(ROOT / "recipe" / "recipe.yaml"))
variants = VariantConfig({"c_stdlib": ["sysroot"], "python": PYTHONS})
for platform in PLATFORMS:
    config = PlatformConfig(target_platform=platform, build_platform=platform, host_platform=platform)
    made = recipe.render(variants, RenderConfig(platform=config))
    assert [str(each.recipe.package.name) for each in made] == ["framefold"] * len(PYTHONS), made
print(f"recipe/recipe.yaml: a package for each of {', '.join(PYTHONS)} on each of {', '.join(PLATFORMS)}")

print("CITATION.cff:", said("cffconvert", "--validate").strip())

for platform, ends in WHEELS.items():
    listed = said("cibuildwheel", "--print-build-identifiers", "--platform", platform, ".").split()
    assert sorted(listed) == sorted(f"cp{each.replace('.', '')}-{end}" for each in PYTHONS for end in ends), listed
print("cibuildwheel:", ", ".join(end for ends in WHEELS.values() for end in ends), "of each")
