"""What follows from lines beyond what they state: a partition's history, inferred states, paired requests, clock skew.

Plain functions over one partition, broker or pair of nodes; `jobs.timelines` groups the rows and calls them.
"""
