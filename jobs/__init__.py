"""What runs: transforms from DataFrame to DataFrame, the session, the warehouse, the commands.

What is known of Kafka and of its logs is in `udfs`, what tables look like in `schemas`.
"""
