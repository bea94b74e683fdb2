/**
 * How many rows were ever changed for good, in all databases of this process. A call happens in one instant, so whoever looks
 * before and after knows what it has written.
 */
export const durable = { writes: 0 }
