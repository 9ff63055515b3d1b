"""Machines and disks of Amazon Web Services, through boto3."""
