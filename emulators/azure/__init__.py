"""Azure: an Azure Resource Manager of our own, over HTTPS with a throw-away certificate authority.

`server.running` starts it. A request passes `dispatch`, which notes it, refuses what is to be
refused and finds its handler in the ROUTES of the modules. State is the JSON documents themselves,
as the recordings of the SDK's own tests show them (tests/cloud/test_azure_recordings.py).
"""
