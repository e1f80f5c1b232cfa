"""Running jobs: capacity, claim, run, settle; under a lease that is kept outside the handlers' reach."""
