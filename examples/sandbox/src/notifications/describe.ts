import { id, object, oneOf, page, ref, type System, text, time } from '../openapi/described.js'
import { mostDaysAhead } from './notification-request.js'

const sendAt = {
  ...time,
  description: `Not before then, at most ${mostDaysAhead} days from now. Its key is kept until a day later.`,
}

export const notifications: System = {
  name: 'Notifications',
  about:
    'The row and the job are one transaction. A worker does the job afterwards, at once or when its time has come.',
  asks: 'token',
  errors: 'Problem',
  schemas: {
    Notification: object(
      {
        id,
        status: oneOf('queued', 'sent', 'refused'),
        to: text(255),
        text: text(1_000),
        sendAt: time,
        createdAt: time,
      },
      ['sendAt'],
    ),
  },
  routes: {
    'POST /notifications': {
      summary: 'Tell somebody something',
      guardedAs: 'notifications.create',
      body: {
        schema: {
          ...object({ to: text(255), userId: id, text: text(1_000), message: text(1_000), sendAt }, [
            'to',
            'userId',
            'text',
            'message',
            'sendAt',
          ]),
          oneOf: [{ required: ['to'] }, { required: ['userId'] }],
          anyOf: [{ required: ['text'] }, { required: ['message'] }],
        },
        example: { to: 'ada@example.com', text: 'Your order has arrived.' },
      },
      answers: { 202: { means: 'It is on record, and will be sent.', schema: ref('Notification'), located: true } },
      refusals: { 404: 'There is no such user.' },
    },
    'GET /notifications': {
      summary: 'The notifications, the last one first',
      paged: true,
      answers: { 200: { means: 'A page of them.', schema: page('notifications', ref('Notification')) } },
    },
    'GET /notifications/{id}': {
      summary: 'A notification',
      answers: { 200: { means: 'How it stands.', schema: ref('Notification') } },
    },
  },
}
