"""Google Compute Engine, driven by Google's own discovery document.

`server.running` starts it. A request is matched and checked by `discovery` and `schema`, passes
`faults` and `request_ids`, and is answered by the function that `server.HANDLERS` names for its
method; every answer is checked as the request was. What changes anything is an operation.
"""
