import type { CompiledQuery, Kysely, SchemaModule } from 'kysely'
import { newId } from '../web/ids.js'
import type { NotificationRequest } from './notification-request.js'

export interface Notification extends NotificationRequest {
  readonly id: string
  readonly tenant: string
  readonly status: 'queued' | 'sent' | 'refused'
  /** ISO 8601, in UTC. */
  readonly createdAt: string
}

export interface NotificationTables {
  notifications: { id: string; tenant: string; recipient: string; text: string; status: string; created_at: string }
  /** When those are sent that are not sent at once. Apart, so that a table of an older sandbox stays as it is. */
  notification_times: { notification_id: string; send_at: string }
}

type Queries = Kysely<NotificationTables>

export function createNotificationTables(schema: SchemaModule): readonly CompiledQuery[] {
  return [
    schema
      .createTable('notifications')
      .ifNotExists()
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('tenant', 'text', (column) => column.notNull())
      .addColumn('recipient', 'text', (column) => column.notNull())
      .addColumn('text', 'text', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('created_at', 'text', (column) => column.notNull())
      .compile(),
    schema
      .createTable('notification_times')
      .ifNotExists()
      .addColumn('notification_id', 'text', (column) => column.primaryKey())
      .addColumn('send_at', 'text', (column) => column.notNull())
      .compile(),
  ]
}

export function newNotification(tenant: string, asked: NotificationRequest): Notification {
  return { ...asked, id: newId('ntf'), tenant, status: 'queued', createdAt: new Date().toISOString() }
}

export function insertNotification(
  db: Queries,
  { to, createdAt, sendAt, ...row }: Notification,
): readonly CompiledQuery[] {
  const notification = db.insertInto('notifications').values({ ...row, recipient: to, created_at: createdAt })
  if (sendAt === undefined) return [notification.compile()]
  const time = db.insertInto('notification_times').values({ notification_id: row.id, send_at: sendAt })
  return [notification.compile(), time.compile()]
}

/** The same where it may be there already. */
export function keepNotification(db: Queries, { to, createdAt, sendAt: _, ...row }: Notification) {
  return db
    .insertInto('notifications')
    .values({ ...row, recipient: to, created_at: createdAt })
    .onConflict((conflict) => conflict.doNothing())
}

export function setNotificationStatus(db: Queries, id: string, status: Notification['status']): CompiledQuery {
  return db.updateTable('notifications').set({ status }).where('id', '=', id).compile()
}

/** Asks for the tenant too: to everybody else the notification does not exist. */
export function findNotification(db: Queries, tenant: string, id: string): CompiledQuery {
  return ofTenant(db, tenant).where('id', '=', id).compile()
}

/** The last one first, from behind `after` on. */
export function listNotifications(
  db: Queries,
  tenant: string,
  limit: number,
  after: string | undefined,
): CompiledQuery {
  const mine = ofTenant(db, tenant)
  const rest = after === undefined ? mine : mine.where('id', '<', after)
  return rest.orderBy('id', 'desc').limit(limit).compile()
}

function ofTenant(db: Queries, tenant: string) {
  return db
    .selectFrom('notifications')
    .leftJoin('notification_times', 'notification_id', 'id')
    .selectAll('notifications')
    .select('send_at')
    .where('tenant', '=', tenant)
}

export function notificationOf(row: Readonly<Record<string, unknown>>): Notification {
  return {
    id: String(row.id),
    tenant: String(row.tenant),
    to: String(row.recipient),
    text: String(row.text),
    sendAt: row.send_at === null ? undefined : String(row.send_at),
    status: row.status as Notification['status'],
    createdAt: String(row.created_at),
  }
}

/** A notification as clients see it. */
export function shownNotification({ id, status, to, text, sendAt, createdAt }: Notification) {
  return { id, status, to, text, ...(sendAt !== undefined && { sendAt }), createdAt }
}
