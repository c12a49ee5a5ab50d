"""Registration: the changes of CREATE, DROP and ALTER to the catalogue.

    names       checks of names: free, existing, or missing
    inputs      streams and relations
    queries     continuous queries
    activation  stopping and continuing queries

Each function is one change: it checks first, and an error leaves everything unchanged.
"""
