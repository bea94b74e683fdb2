/**
 * Unless a test wants it otherwise, every replay asks the database: these tests move its clock by days in no time, take it
 * away, and change its rows behind the backs of the nodes.
 */
export const usual = { SANDBOX_REPLAY_SECONDS: '0' }
