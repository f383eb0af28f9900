"""What users test their own adapters and graphs with: conformance suites (`stores`)."""
