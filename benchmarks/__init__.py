"""Speed and memory of the analysis, as ratios to a floor measured in the same run."""
