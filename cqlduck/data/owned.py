"""Tables in memory of their own: what a caller writes into its arrays later does not show in them.

Arrow takes an array of numpy, pandas or polars without a copy, and a database in memory keeps what
comes in as Arrow tables. To copy costs some 4 ms for a million rows of 26 bytes. A slice has the
buffers of the table that it is a part of, and of these its own part alone is copied.
"""

from __future__ import annotations

import pyarrow as pa

LARGER = 2
"""How many times as large as its rows the buffers of a batch are of which a part is copied."""


def owned(table: pa.Table) -> pa.Table:
    """Return a table that shares no memory with another one."""
    memory = pa.default_cpu_memory_manager()
    batches = [_copied(batch, memory) for batch in _with_durations(table).to_batches()]
    return pa.Table.from_batches(batches, batches[0].schema if batches else table.schema)


def _copied(batch: pa.RecordBatch, memory: pa.MemoryManager) -> pa.RecordBatch:
    if batch.get_total_buffer_size() > LARGER * batch.nbytes:
        try:
            # of one array alone Arrow makes no copy
            columns = [pa.concat_arrays([one, one.slice(0, 0)]) for one in batch.columns]
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            # of some types it makes no arrays of several
            return batch.copy_to(memory)
        # dictionaries are still those of the caller
        batch = pa.RecordBatch.from_arrays(columns, schema=batch.schema)
    return batch.copy_to(memory)


def _with_durations(table: pa.Table) -> pa.Table:
    """Return a table whose durations have a unit that DuckDB does not multiply.

    It multiplies what lies under a NULL as well, and refuses the row.
    """
    for place, field in enumerate(table.schema):
        if pa.types.is_duration(field.type) and field.type.unit in ("s", "ms"):
            try:
                column = table.column(place).cast(pa.duration("us"))
            except pa.ArrowInvalid:
                # DuckDB says which one is too long
                continue
            table = table.set_column(place, field.name, column)
    return table
