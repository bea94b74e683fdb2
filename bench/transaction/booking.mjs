/** What a payment does to a database: it is written down, the account is charged, and the ledger has a line. */

/** So many that two payments at one time rarely wait for the same one. */
export const accounts = 10_000

export const tables = `
  CREATE TABLE accounts (id integer PRIMARY KEY, cents bigint NOT NULL);
  CREATE TABLE payments (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, reference text NOT NULL UNIQUE,
    account integer NOT NULL REFERENCES accounts, cents bigint NOT NULL, booked_at timestamptz NOT NULL DEFAULT now());
  CREATE TABLE ledger (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payment bigint NOT NULL REFERENCES payments,
    cents bigint NOT NULL);
  INSERT INTO accounts SELECT id, 1000000 FROM generate_series(0, ${accounts - 1}) id;
  ANALYZE accounts`

/**
 * Named, so that each is planned once: with Hapax and without.
 *
 * @param {import('pg').ClientBase} client
 * @param {{ reference: string, account: number, cents: number }} payment
 */
export async function book(client, { reference, account, cents }) {
  const { rows } = await client.query({
    name: 'pay',
    text: 'INSERT INTO payments (reference, account, cents) VALUES ($1, $2, $3) RETURNING id',
    values: [reference, account, cents],
  })
  const id = rows[0].id
  await client.query({
    name: 'charge',
    text: 'UPDATE accounts SET cents = cents - $2 WHERE id = $1',
    values: [account, cents],
  })
  await client.query({
    name: 'note',
    text: 'INSERT INTO ledger (payment, cents) VALUES ($1, $2)',
    values: [id, cents],
  })
  return { id, reference }
}
