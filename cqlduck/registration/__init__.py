"""Registration: what CREATE, DROP and ALTER do to the catalogue.

    names       a name that is free, is there already, or is not there
    inputs      streams and relations
    queries     continuous queries
    activation  whether a query goes on, and from where

Each function is one change: it checks first, and what fails leaves everything as it was.
"""
