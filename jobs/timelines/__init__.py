"""Events into what was when: clocks, requests, topics, controllers, brokers, states of partitions.

What happened in between (elections, outages, verdicts) is in `jobs.findings`.
"""
