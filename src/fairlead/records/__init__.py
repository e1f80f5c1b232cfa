"""What Fairlead keeps beside the hot path of jobs: one concrete class for each feature, written once over Database."""
